"""Writes `docs/gpu.md` from a run of the tests and the benchmark on a card; `tools/gpu_check.sh` calls it.

python tools/make_gpu_page.py TESTS.xml RESULTS.json [PAGE.md]
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

TARGET = Path(__file__).parent.parent / "docs" / "gpu.md"
HEAD = """\
# On a card

What the tests and the benchmark found on a machine with a CUDA card. `tools/gpu_check.sh` runs them and
writes this page.
"""


def page(tests: str, results: dict[str, Any]) -> str:
    """The whole page, from pytest's report in XML and the benchmark's results."""
    about = f"{results['card']}, torch {results['torch']}, CUDA {results['cuda']}."
    return (
        "\n".join([HEAD, about, "", "## Tests", "", *_tests(tests), "", "## Times", "", *_times(results["rows"])])
        + "\n"
    )


def _tests(report: str) -> list[str]:
    cases = list(ElementTree.fromstring(report).iter("testcase"))
    counts = Counter(_outcome(case) for case in cases)
    lines = [", ".join(f"{counts[name]} {name}" for name in ("passed", "failed", "skipped") if counts[name]) + "."]
    for case in cases:
        if _outcome(case) != "passed":
            found = next(child for child in case if child.tag in ("failure", "error", "skipped"))
            reason = (found.get("message") or "").splitlines() or [""]
            lines.append(f"- {_outcome(case)}: `{case.get('classname')}::{case.get('name')}`: {reason[0]}")
    return lines


def _outcome(case: ElementTree.Element) -> str:
    tags = {child.tag for child in case}
    if tags & {"failure", "error"}:
        return "failed"
    return "skipped" if "skipped" in tags else "passed"


def _times(rows: list[dict[str, Any]]) -> list[str]:
    lines = [
        "The least of many interleaved runs, each waited for. Ratios are of our time to theirs: below 1 is faster. The",
        "error is the largest difference from torch's result, relative to its largest value.",
        "",
        "| case | us | / torch | / compile | with gradient, us | / torch | / compile | error |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = [*_way(row.get("forward")), *_way(row.get("with gradient"))]
        lines.append(f"| {row['case']} | {' | '.join(cells)} | {row['error']:.1e} |")
    return lines


def _way(times: dict[str, float] | None) -> list[str]:
    if times is None:
        return ["", "", ""]
    others = [f"{times['ours'] / times[name]:.2f}" if name in times else "" for name in ("torch", "compile")]
    return [f"{times['ours']:.1f}", *others]


def main(tests: str, results: str, target: str = str(TARGET)) -> None:
    """Writes the page."""
    Path(target).write_text(
        page(Path(tests).read_text(encoding="utf-8"), json.loads(Path(results).read_text(encoding="utf-8")))
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
