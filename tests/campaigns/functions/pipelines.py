"""Random processing functions: Hypothesis writes them, and Python and the pipeline must never answer differently.

Run on the example, on other data and at other sizes; there a guard may refuse, but an answer must be Python's.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter

import torch
from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.campaigns.check import Check, Finding, Unusable
from tests.campaigns.functions.programs import Program, programs
from tests.campaigns.functions.surroundings import packed
from tests.campaigns.journal import Journal, Record, found_by
from tests.campaigns.limit import SECONDS, Overdue, limited
from tests.campaigns.tally import ERROR, REFUSED, RIGHT, Tally

BATCHES = 40  # of a full run, each with a seed of its own
BATCH = 100


def check(program: Program) -> Finding:
    """One program, held against its pipeline.

    Raises:
        Unusable: eager does not take the example.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Python gets a new function for each call: one that writes into a global of its own must not remember it.
        held = Check(
            program.function(packed), program.inputs(3), catches="try:" in program.source,
            eager=lambda *given: program.function()(*given),
        )  # fmt: skip
        return held.run(program.others())


def run(share: int | None = None, jobs: int = 2, fresh: bool = False) -> Tally:
    """The tally of many programs, or of a part with seeds of its own."""
    tally = Tally("Random processing functions", "functions", full=share is None)
    if share is None:
        records = list(Journal("pipelines", fresh).complete(range(BATCHES), batch, jobs))
    else:
        seeds = range(BATCHES + 2 * share, BATCHES + 2 * share + 2)
        records = [record for _, record in found_by(seeds, batch, 1)]
    refusals = Counter[str]()
    for record in records:
        for number in range(record["right"]):
            tally.add(f"function {number}", RIGHT)
        refusals.update(record["refused"])
        tally.tried += record["tried"]
        tally.seconds += record["seconds"]
    for reason, times in refusals.most_common():
        for _ in range(times):
            tally.add("function", REFUSED, reason)
    for outcome, reason, program in (bad for record in records for bad in record["bad"]):
        tally.add("function", outcome, reason, program)
    tally.notes.append(
        "Each is run on the example, on other data, with other strides, with one tensor given twice, and at other "
        "sizes, 0 and 1 among them."
    )
    return tally


def batch(number: int) -> Record:
    """What is found of the programs that Hypothesis writes from one seed."""
    start, right, refused = time.process_time(), 0, Counter[str]()
    bad: list[tuple[str, str, str]] = []
    seen = set[str]()  # Hypothesis may draw one twice

    @seed(number)
    @settings(
        max_examples=BATCH, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(programs())
    def each(program: Program) -> None:
        nonlocal right
        if repr(program) in seen:
            return
        seen.add(repr(program))
        try:
            with limited():
                found = check(program)
        except Unusable:
            return
        except Overdue:
            found = Finding(ERROR, f"no answer within {SECONDS} s")
        if found.outcome == RIGHT:
            right += 1
        elif found.outcome == REFUSED:
            refused[" ".join(found.what.split())[:150]] += 1
        else:
            bad.append((found.outcome, found.reason, f"{program.source}\n{program}"))

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        each()
    finally:
        torch.set_num_threads(threads)
    tried = right + refused.total() + len(bad)
    return {
        "right": right, "refused": refused, "bad": bad, "tried": tried, "seconds": time.process_time() - start
    }  # fmt: skip
