"""How many rows a run takes: measured on rows of the source."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from ..reading.parts import taken
from .columns import Values
from .compute import Work

SIZES = (1, 4, 16, 64, 256, 1024, 4096, 16384)
_SECONDS = 0.2  # for each size
_BETTER = 1.1  # by what a larger batch must be faster, since it takes more memory
_MOST_BYTES = 256 << 20  # of the answers of a run
_WINDOWS = 8  # places at which a size is tried, since a bad row fails the run that it is in


def sound_values(work: Work, first: pa.Table) -> tuple[Values, int]:
    """The values of rows from the beginning that a run takes, and how many there are."""
    faults = work.binding.bad(first)
    rows = taken(first, [row for row in range(first.num_rows) if row not in faults])
    values, lost = work.binding.values(rows)
    if lost:
        rows = taken(rows, [row for row in range(rows.num_rows) if row not in lost])
        values, _ = work.binding.values(rows)
    return values, rows.num_rows


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
