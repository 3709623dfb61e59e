"""Random plain loops: the loaded file must never answer otherwise than Python, at other lengths and values."""

from __future__ import annotations

import copy
import io
import time
import warnings
from typing import Any

import tracepack
from tests.campaigns.check import difference
from tests.campaigns.journal import Record, of_seeds
from tests.campaigns.limit import SECONDS, Overdue, limited
from tests.campaigns.loops.programs import Writer, inputs, made
from tests.campaigns.tally import ERROR, REFUSED, RIGHT, WRONG, Tally

SEEDS = 2000  # of a full run
OF_SHARE = 8
INPUTS = 5


def run(share: int | None = None, jobs: int = 2, fresh: bool = False) -> Tally:
    """The tally of many loops, or of a part with seeds of its own."""
    tally = Tally("Random plain loops", "functions", full=share is None)
    tally.notes.append("A function counts as refused where any length or value of its inputs is fixed, or refused.")
    records = of_seeds("loops", SEEDS, OF_SHARE, share, found, jobs, fresh)
    tally.add_records(records)
    return tally


def found(seed: int) -> Record:
    """What is found of one function."""
    began, source = time.process_time(), Writer(seed).source()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with limited(SECONDS):
                outcome, reason = _held(made(source, seed), seed)
        except (Exception, Overdue) as error:
            outcome, reason = ERROR, f"{type(error).__name__}: {error}"
    seconds = time.process_time() - began
    detail = source if outcome in (WRONG, ERROR) else ""
    return {
        "name": f"loops {seed}", "outcome": outcome, "reason": reason, "detail": detail, "tried": INPUTS,
        "seconds": seconds,
    }  # fmt: skip


def _held(process: Any, seed: int) -> tuple[str, str]:
    """One function, held against its loaded pipeline."""
    if isinstance(_answer(process, inputs(process, seed, 0)), Exception):
        return RIGHT, ""  # nothing to record
    try:
        file = io.BytesIO()
        tracepack.trace(process, *inputs(process, seed, 0)).save(file)
        mod = tracepack.load(file.getvalue())
    except tracepack.TracepackError as error:
        return REFUSED, str(error)
    refused = ""
    for which in range(INPUTS):
        wanted, got = (_answer(each, inputs(process, seed, which)) for each in (process, mod))
        if isinstance(got, tracepack.TracepackError):
            refused = refused or ("" if isinstance(wanted, Exception) else str(got))
        elif isinstance(got, Exception):
            return ERROR, f"input {which}: {type(got).__name__}: {got}"
        elif isinstance(wanted, Exception) or difference(wanted, got):
            return WRONG, f"input {which}: {got!r} instead of {wanted!r}"
    return (REFUSED, refused) if refused else (RIGHT, "")


def _answer(process: Any, given: list[Any]) -> Any:
    """What a function answers, or the error that it raises."""
    try:
        return process(*copy.deepcopy(given))
    except Exception as error:
        return error
