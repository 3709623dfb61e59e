"""How many rows a run takes: measured on rows of the source, which are also run alone and together."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from ...ops.graph.errors import BatchError
from ...pipeline.signature.rows.whole_choices import choice_for_all
from ..reading.parts import taken
from .columns import Values
from .compute import Work

SIZES = (1, 4, 16, 64, 256, 1024, 4096, 16384)
_SECONDS = 0.2  # for each size
_BETTER = 1.1  # by what a larger batch must be faster, since it takes more memory
_MOST_BYTES = 256 << 20  # of the answers of a run
_TRIED = 4  # rows that are run alone and together
_LOOKED = 64  # rows among which they are found, for some may fail
_WINDOWS = 8  # places at which a size is tried, since a bad row fails the run that it is in
_CLOSE = {pa.float32(): 1e-4, pa.float64(): 1e-8}


def sound_values(work: Work, first: pa.Table) -> tuple[Values, int]:
    """The values of rows from the beginning that a run takes, and how many there are."""
    faults = work.binding.bad(first)
    rows = taken(first, [row for row in range(first.num_rows) if row not in faults])
    values, lost = work.binding.values(rows)
    if lost:
        rows = taken(rows, [row for row in range(rows.num_rows) if row not in lost])
        values, _ = work.binding.values(rows)
    return values, rows.num_rows


def check_alone(work: Work, first: pa.Table, batch: int) -> None:
    """Checks that rows together give what each gives alone, but for rounding.

    They are run together by themselves, and repeated to as many rows as a run of the job takes: what a row gives may
    depend on how many there are, or on its place.

    Args:
        work: how they are run.
        first: rows from the beginning; the first of them that are no bad rows are tried.
        batch: rows of a run of the job.

    Raises:
        BatchError: they do not, or a choice is made for all rows at once, which no few rows show.
    """
    if choice := choice_for_all(work.pipeline.graph):
        raise BatchError(
            "the answer for a row depends on the rows beside it", where=f"pipeline {work.pipeline.name!r}", got=choice,
            fix="Run each row alone: batch_size=1.",
        )  # fmt: skip
    values, count = sound_values(work, first.slice(0, _LOOKED))
    if count < _TRIED:
        values, count = sound_values(work, first)
    tried, alone = _run_alone(work, values, min(count, _LOOKED))
    if not tried:
        return
    wanted = [pa.concat_arrays(columns) for columns in zip(*alone, strict=True)]
    for count in sorted({len(tried), max(batch, len(tried))}):
        order = [tried[place % len(tried)] for place in range(count)]
        try:
            together = work.run(_picked(values, order), 0, count)
        except BatchError:
            raise
        except Exception:  # rows that fail together are run alone by the job
            return
        _check_equal(work, wanted, together, len(tried), count)


def _check_equal(work: Work, wanted: Sequence[Any], together: Sequence[Any], period: int, count: int) -> None:
    """Checks the first and the last rows of a run in which rows are repeated, whose answers were each row's own."""
    last = (count - period) // period * period
    for index, name in enumerate(work.answers.schema.names):
        for begin in {0, last}:
            got = together[index].slice(begin, period)
            if not _equal(got, wanted[index]):
                row = next((r for r in range(period) if not _equal(got[r : r + 1], wanted[index][r : r + 1])), 0)
                raise BatchError(
                    "the answer for a row depends on the rows beside it", where=f"output {name!r}",
                    got=f"{_shown(got, row)} for row {begin + row + 1} of {count}",
                    expected=_shown(wanted[index], row), fix="Run each row alone: batch_size=1.",
                )  # fmt: skip


def _run_alone(work: Work, values: Values, count: int) -> tuple[list[int], list[list[Any]]]:
    """Some rows that run by themselves, and what they give."""
    found: list[int] = []
    answers = []
    for row in range(count):
        try:
            answers.append(work.run(values, row, row + 1))
        except BatchError:
            raise
        except Exception:  # a bad row; the job will say which
            continue
        found.append(row)
        if len(found) == _TRIED:
            break
    return found, answers


def _picked(values: Values, rows: Sequence[int]) -> Values:
    """The values of some rows."""
    return [
        (name, value[list(rows)] if isinstance(value, torch.Tensor) else [value[row] for row in rows])
        for name, value in values
    ]


def _shown(column: Any, row: int) -> str:
    return repr(column[row].as_py())[:150]


def _equal(left: Any, right: Any) -> bool:
    """Whether two arrays are equal, floating numbers but for rounding."""
    if left.type != right.type or len(left) != len(right):
        return False
    if pa.types.is_list(left.type):
        lengths = pc.list_value_length(left).equals(pc.list_value_length(right))
        return lengths and _equal(left.flatten(), right.flatten())
    if pa.types.is_struct(left.type):
        return all(_equal(a, b) for a, b in zip(left.flatten(), right.flatten(), strict=True))
    if not pa.types.is_floating(left.type):
        return bool(left.equals(right))
    close = _CLOSE.get(left.type, 2e-2)
    a, b = left.to_numpy(zero_copy_only=False), right.to_numpy(zero_copy_only=False)
    largest = max(1.0, float(np.abs(a[np.isfinite(a)]).max(initial=0)))
    return bool(np.allclose(a, b, rtol=close, atol=close * largest, equal_nan=True))


def measured(work: Work, values: Values, count: int) -> int:
    """The batch size with which rows take the least time; a smaller one where it hardly differs.

    Args:
        work: whose own batch size does not count.
        values: of sound rows.
        count: how many they are.
    """
    if work.binding.by_row or count == 0:
        return 1
    best, least = 1, float("inf")
    for size in SIZES:
        if size > count and best > 1:
            break
        rows = min(size, count)
        begins = range(0, count - rows + 1, rows)[:_WINDOWS]
        taken = next(filter(None, (_seconds(work, values, begin, begin + rows) for begin in begins)), None)
        if taken is None:
            break
        seconds, wide = taken
        if seconds * _BETTER < least:
            best, least = size, seconds
        if wide * size * 4 > _MOST_BYTES:
            break
    return best


def _seconds(work: Work, values: Values, begin: int, stop: int) -> tuple[float, float] | None:
    """The least time of a run for a row, and the bytes of its answers; None where a row of them fails."""
    try:
        answers: Sequence[Any] = work.run(values, begin, stop)
        least, end = float("inf"), time.monotonic() + _SECONDS
        while True:
            start = time.perf_counter()
            work.run(values, begin, stop)
            least = min(least, time.perf_counter() - start)
            if time.monotonic() > end:
                return least / (stop - begin), sum(each.nbytes for each in answers) / (stop - begin)
    except Exception:
        return None
