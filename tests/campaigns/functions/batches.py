"""Many random programs: Hypothesis writes them in batches, each from a seed of its own, and a tally counts outcomes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import torch
from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.campaigns.check import Finding, Unusable
from tests.campaigns.functions.programs import Program
from tests.campaigns.journal import Journal, Record, found_by
from tests.campaigns.limit import SECONDS, Overdue, limited
from tests.campaigns.tally import ERROR, REFUSED, RIGHT, Tally

BATCH = 100


def records(
    name: str, batches: int, batch: Callable[[int], Record], share: int | None, jobs: int, fresh: bool
) -> Sequence[Record]:
    """The records of a full run, or of the two batches beyond it that belong to a share."""
    if share is None:
        return list(Journal(name, fresh).complete(range(batches), batch, jobs))
    return [record for _, record in found_by(range(batches + 2 * share, batches + 2 * share + 2), batch, 1)]


def counted(tally: Tally, found: Sequence[Record]) -> Tally:
    """A tally with what the records say."""
    refusals = Counter[str]()
    for record in found:
        for number in range(record["right"]):
            tally.add(f"function {number}", RIGHT)
        refusals.update(record["refused"])
        tally.tried += record["tried"]
        tally.seconds += record["seconds"]
    for reason, times in refusals.most_common():
        for _ in range(times):
            tally.add("function", REFUSED, reason)
    for outcome, reason, program in (bad for record in found for bad in record["bad"]):
        tally.add("function", outcome, reason, program)
    return tally


def examine(number: int, programs: Any, check: Callable[[Program], Finding]) -> Record:
    """What is found of the programs that Hypothesis writes from one seed.

    Args:
        number: the seed.
        programs: the strategy that writes them.
        check: holds one of them against its pipeline.
    """
    start, right, refused = time.process_time(), 0, Counter[str]()
    bad: list[tuple[str, str, str]] = []
    seen = set[str]()  # Hypothesis may draw one twice

    @seed(number)
    @settings(
        max_examples=BATCH, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(programs)
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
            bad.append((found.outcome, found.reason, f"{program.text()}\n{program}"))

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
