"""Random processing functions: Hypothesis writes them, and Python and the pipeline must never answer differently.

Run on the example, on other data and at other sizes; there a guard may refuse, but an answer must be Python's.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter

import torch
from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.campaigns.check import Check, Finding, Unusable
from tests.campaigns.programs import Program, programs
from tests.campaigns.tally import REFUSED, RIGHT, Tally

FULL = 4000
SHARE = 250


def check(program: Program) -> Finding:
    """One program, held against its pipeline.

    Raises:
        Unusable: eager does not take the example.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Python gets a new function for each call: one that writes into a global of its own must not remember it.
        held = Check(
            program.function(), program.inputs(3), catches="try:" in program.source,
            eager=lambda *given: program.function()(*given),
        )  # fmt: skip
        return held.run(program.others())


def run(share: int | None = None) -> Tally:
    """The tally of many programs, or of a part with a seed of its own."""
    tally = Tally("Random processing functions", "functions", full=share is None)
    count, refusals = Counter[str](), Counter[str]()
    bad: list[tuple[Finding, Program]] = []

    @seed(0 if share is None else 1 + share)
    @settings(
        max_examples=FULL if share is None else SHARE, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(programs())
    def each(program: Program) -> None:
        try:
            found = check(program)
        except Unusable:
            return
        count[found.outcome] += 1
        if found.outcome == REFUSED:
            refusals[_kind(found.reason)] += 1
        elif found.outcome != RIGHT:
            bad.append((found, program))

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        each()
    finally:
        torch.set_num_threads(threads)
    for number in range(count[RIGHT]):
        tally.add(f"function {number}", RIGHT)
    for reason, times in refusals.most_common():
        for _ in range(times):
            tally.add("function", REFUSED, reason)
    for found, program in bad:
        tally.add("function", found.outcome, found.reason, f"{program.source}\n{program}")
    tally.notes.append(
        f"{sum(count.values())} functions, each run on the example, on other data, with other strides, with one tensor "
        "given twice, and at other sizes, 0 and 1 among them."
    )
    return tally


def _kind(reason: str) -> str:
    """A refusal without the line of the program."""
    text = re.sub(
        r"^<string[^>]*>:\d+ in \w+: (.*?): (?=[a-z].* (recorded|graph|memory|torch|error|tensor|inputs|numbers|recording))",
        "",
        reason,
    )
    text = re.sub(r"^<string.*?: ", "", text)
    return text.split("; got")[0].split(". ")[0][:150]
