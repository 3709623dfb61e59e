"""Runs all campaigns and writes `docs/coverage.md`: `python -m tests.campaigns [--jobs N] [--samples N] [--only NAME ...]`."""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from tests.campaigns import operators, pipelines
from tests.campaigns.report import report
from tests.campaigns.tally import Tally

TARGET = Path(__file__).parents[2] / "docs" / "coverage.md"


def campaigns(jobs: int, most: int) -> dict[str, Callable[[], Tally]]:
    """All campaigns by name."""
    found: dict[str, Callable[[], Tally]] = {
        "operators": lambda: operators.run(None, jobs, most),
        "scripted": lambda: operators.run_scripted(None, jobs, most),
        "pipelines": lambda: pipelines.run(None),
    }
    if importlib.util.find_spec("tests.campaigns.architectures"):
        from tests.campaigns import architectures

        found["architectures"] = lambda: architectures.run(None)
    return found


def main() -> int:
    """Runs, reports, and fails where a bug was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns", description=__doc__)
    parser.add_argument("--jobs", type=int, default=2, help="processes for the operator database")
    parser.add_argument("--samples", type=int, default=10**9, help="samples of each operator and dtype; all by default")
    parser.add_argument("--only", nargs="*", help="campaigns to run; nothing is written then")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    tallies = []
    for name, run in campaigns(chosen.jobs, chosen.samples).items():
        if chosen.only and name not in chosen.only:
            continue
        start = time.perf_counter()
        tally = run()
        tallies.append(tally)
        print(f"{name}: {tally.counts()} in {time.perf_counter() - start:.0f} s")
        for case in tally.bugs():
            print(f"  {case.outcome}: {case.name}: {case.reason}\n{case.detail}")
    if not chosen.only:
        TARGET.parent.mkdir(exist_ok=True)
        TARGET.write_text(report(tallies))
        print(f"written: {TARGET.name}")
    return 1 if any(tally.bugs() for tally in tallies) else 0


if __name__ == "__main__":
    sys.exit(main())
