"""Random functions with rare branches: the loaded file must answer as Python does where data take them, or say why not."""

from __future__ import annotations

import copy
import io
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

import tracepack
from tests.campaigns.branches.rare_data import RareData
from tests.campaigns.branches.rare_writer import Writer, made, plain
from tests.campaigns.check import difference
from tests.campaigns.journal import Record, of_seeds
from tests.campaigns.limit import SECONDS, Overdue, limited
from tests.campaigns.tally import ERROR, REFUSED, RIGHT, WRONG, Tally
from tracepack.pipeline.rewriting import blocks

SEEDS = 4000  # of a full run
OF_SHARE = 40
KINDS = ("recorded", "block")


def run(share: int | None = None, jobs: int = 2, fresh: bool = False) -> Tally:
    """The tally of many functions, or of a part with seeds of its own."""
    tally = Tally("Rare branches", "functions", full=share is None)
    records = of_seeds("branches", SEEDS, OF_SHARE, share, found, jobs, fresh)
    tally.add_records(records)
    counts = [sum(record["kind"] == kind and record["outcome"] == RIGHT for record in records) for kind in KINDS]
    tally.notes.append(
        f"Of the right ones {counts[0]} are recorded and {counts[1]} in blocks; a function counts as refused where all"
        " data that take a rare branch are."
    )
    return tally


def found(seed: int) -> Record:
    """What is found of one function."""
    began, writer = time.process_time(), Writer(seed)
    marked = writer.source()
    check = Held(marked, writer.arguments, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with limited(SECONDS), _blocks(seed % 3 > 0):
                outcome, reason = check.outcome()
        except (Exception, Overdue) as error:
            outcome, reason = ERROR, f"{type(error).__name__}: {error}"
    return {
        "name": f"branches {seed}", "outcome": outcome, "reason": reason, "kind": check.kind, "tried": check.tried,
        "detail": plain(marked) if outcome in (WRONG, ERROR) else "", "seconds": time.process_time() - began,
    }  # fmt: skip


@contextmanager
def _blocks(allowed: bool) -> Iterator[None]:
    """Leaves plain Python to recordings alone, or to blocks, too, which take most of it."""
    before = blocks.MOST_BLOCKS
    blocks.MOST_BLOCKS = before if allowed else 0
    try:
        yield
    finally:
        blocks.MOST_BLOCKS = before


class Held:
    """One function, held against its loaded pipeline.

    Attributes:
        kind: whether it is recorded or a block; empty if neither.
        tried: the number of its inputs.
    """

    def __init__(self, marked: str, names: list[str], seed: int) -> None:
        self.process, self.data = made(plain(marked), f"branches_{seed}.py"), RareData(marked, names, seed)
        self.kind, self.tried = "", 0

    def outcome(self) -> tuple[str, str]:
        """What is found."""
        example = self.data.example()
        if example is None:
            return RIGHT, ""  # nothing to record
        try:
            file = io.BytesIO()
            traced = tracepack.trace(self.process, *copy.deepcopy(example))
            traced.save(file)
            mod = tracepack.load(file.getvalue())
        except tracepack.TracepackError as error:
            return REFUSED, str(error)
        self.kind = "block" if "py.plain_code" in str(traced.graph) else "recorded"
        stopped, answered = "", 0
        for given, rare in [(example, False), *self.data.others()]:
            self.tried += 1
            outcome, reason = self._of_call(mod, given)
            if outcome not in (RIGHT, REFUSED):
                return outcome, f"{reason} for {given} after {example}"
            stopped = reason or stopped
            answered += rare and outcome == RIGHT
        return (RIGHT, "") if answered else (REFUSED, stopped)

    def _of_call(self, mod: Any, given: list[Any]) -> tuple[str, str]:
        ours, theirs = copy.deepcopy(given), copy.deepcopy(given)
        wanted, got = _answer(self.process, theirs), _answer(mod, ours)
        if isinstance(got, tracepack.TracepackError):
            return REFUSED, str(got)
        if isinstance(got, Exception):
            return ERROR, f"{type(got).__name__}: {got}"
        kept = [difference(a, b) for a, b in zip(theirs, ours, strict=True) if isinstance(a, torch.Tensor | np.ndarray)]
        differs = "an error is missing" if isinstance(wanted, Exception) else difference(wanted, got)
        if differs or any(kept):
            return WRONG, f"{differs or f'an input afterwards: {kept}'}: {got!r} instead of {wanted!r}"
        return RIGHT, ""


def _answer(process: Any, given: list[Any]) -> Any:
    """What a function answers, or the error that it raises."""
    try:
        with torch.no_grad():
            return process(*given)
    except Exception as error:
        return error
