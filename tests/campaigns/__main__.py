"""Runs all campaigns and writes `docs/coverage.md`.

`python -m tests.campaigns [CAMPAIGN ...] [--jobs N] [--samples N] [--fresh]`. It may be stopped at any time: what
was finished is kept, and the same command goes on from there as long as no source changes; `--fresh` starts anew.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

from tests.campaigns import operators
from tests.campaigns.branches import campaign as branches
from tests.campaigns.engines import campaign as engines
from tests.campaigns.functions import gradients, pipelines
from tests.campaigns.interrupts import campaign as interrupts
from tests.campaigns.loops import campaign as loops
from tests.campaigns.report import report
from tests.campaigns.tally import Tally

TARGET = Path(__file__).parents[2] / "docs" / "coverage.md"


def campaigns(jobs: int, most: int, fresh: bool) -> dict[str, Callable[[], Tally]]:
    """All campaigns by name."""
    found: dict[str, Callable[[], Tally]] = {
        "operators": lambda: operators.run(None, jobs, most, fresh),
        "scripted": lambda: operators.run_scripted(None, jobs, most, fresh),
        "engines": lambda: engines.run(None, jobs, fresh=fresh),
        "pipelines": lambda: pipelines.run(None, jobs, fresh),
        "gradients": lambda: gradients.run(None, jobs, fresh),
        "loops": lambda: loops.run(None, jobs, fresh),
        "branches": lambda: branches.run(None, jobs, fresh),
        "interrupts": lambda: interrupts.run(None),
    }
    if importlib.util.find_spec("tests.campaigns.architectures"):
        from tests.campaigns.architectures import campaign as architectures

        found["architectures"] = lambda: architectures.run(None, jobs, fresh)
    return found


def main() -> int:
    """Runs, reports, and fails where a bug was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns", description=__doc__)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument(
        "--samples", type=int, default=operators.ALL, help="samples of each operator and dtype; all by default"
    )
    parser.add_argument("names", nargs="*", help="campaigns to run; nothing is written then")
    parser.add_argument("--only", nargs="*", help="the same")
    parser.add_argument("--fresh", action="store_true", help="run again what is kept from an earlier run")
    chosen = parser.parse_args()
    only = [*chosen.names, *(chosen.only or ())]
    warnings.simplefilter("ignore")
    tallies = []
    for name, run in campaigns(chosen.jobs, chosen.samples, chosen.fresh).items():
        if only and name not in only:
            continue
        tally = run()
        tallies.append(tally)
        print(f"{name}: {tally.counts()} in {tally.seconds:.0f} s of processor time", flush=True)
        for case in tally.bugs():
            print(f"  {case.outcome}: {case.name}: {case.reason}\n{case.detail}")
    if not only:
        TARGET.parent.mkdir(exist_ok=True)
        TARGET.write_text(report(tallies))
        print(f"written: {TARGET.name}")
    return 1 if any(tally.bugs() for tally in tallies) else 0


if __name__ == "__main__":
    sys.exit(main())
