"""`docs/coverage.md`: the tallies as tables, with every refusal and its reason."""

from __future__ import annotations

import platform
import re
from collections import Counter
from collections.abc import Sequence

import torch

import tracepack
from tests.campaigns.tally import ERROR, OUTCOMES, REFUSED, RIGHT, WRONG, Tally

HEAD = """# Coverage: what is right, what is refused, and why

Made by `python -m tests.campaigns`; do not edit. A case is *right* if the pipeline, traced, saved and loaded, answers
bit for bit as Python does, on the example and on other data; *refused* if an error of tracepack's catalogue says why it
cannot be recorded; *error* for any other exception and *wrong* for another answer, both of which are bugs.
"""


def report(tallies: Sequence[Tally]) -> str:
    """The whole page."""
    versions = f"tracepack {tracepack.__version__}, torch {torch.__version__}, Python {platform.python_version()}"
    parts = [HEAD, f"Versions: {versions}, {platform.machine()}, CPU.\n", _summary(tallies)]
    parts += [_section(tally) for tally in tallies]
    return "\n".join(parts)


def _summary(tallies: Sequence[Tally]) -> str:
    rows = ["| campaign | cases | samples | right | refused | error | wrong | right, % | minutes |", "|" + "---|" * 9]
    for tally in tallies:
        counts, total = tally.counts(), len(tally.cases)
        numbers = " | ".join(str(counts[outcome]) for outcome in (RIGHT, REFUSED, ERROR, WRONG))
        part = "" if tally.full else " (a part)"
        share, minutes = 100 * counts[RIGHT] / max(1, total), f"{tally.seconds / 60:.1f}" if tally.seconds else ""
        rows.append(f"| {tally.title}{part} | {total} | {tally.tried or total} | {numbers} | {share:.1f} | {minutes} |")
    return "\n".join([*rows, "", "Minutes are processor time, of all processes together."]) + "\n"


def _section(tally: Tally) -> str:
    lines = [f"## {tally.title}", "", *tally.notes, ""]
    for outcome in OUTCOMES[1:]:
        cases = [case for case in tally.cases if case.outcome == outcome]
        if not cases:
            continue
        lines += [f"### {outcome.capitalize()}", "", f"| {tally.unit} | reason | where |", "|---|---|---|"]
        for (name, reason, detail), times in Counter((c.name, c.reason, c.detail) for c in cases).items():
            shown = f"{name} ({times} times)" if times > 1 else name
            lines.append(f"| {shown} | {_cell(reason)} | {_cell(detail)} |")
        lines.append("")
    return "\n".join(lines)


def _cell(text: str) -> str:
    """A cell without line breaks, bars, and the campaign's own source lines."""
    text = re.sub(r"^(op '_Module', )?\w+\.py:\d+ in \w+: return [^:]*: ", "", " ".join(text.split()))
    return text.replace("|", "\\|").replace("<", "&lt;")[:400]
