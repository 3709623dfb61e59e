"""Parquet files, read part by part, without the groups of rows that no part needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from .parts import Found, cut

_DECODED = 1 << 16  # rows that are decoded at a time
_READ = 1 << 20  # bytes of a column that are read at a time; a mapped file would count as memory of the process


def parquet_parts(path: str, columns: Sequence[str], size: int, is_done: Callable[[int], bool]) -> Found:
    """The parts of a Parquet file that are not done; groups of rows with none of theirs are not read."""
    with pq.ParquetFile(path, pre_buffer=False, buffer_size=_READ) as file:
        groups = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
        total = sum(groups)
        for first, last in _runs([n for n in range(-(-total // size)) if not is_done(n)]):
            begin, end = first * size, min((last + 1) * size, total)
            start, wanted = 0, []
            skipped: int | None = None
            for index, count in enumerate(groups):
                if start < end and start + count > begin and count:
                    wanted.append(index)
                    skipped = begin - start if skipped is None else skipped
                start += count
            stream = file.iter_batches(min(size, _DECODED), wanted, columns)
            stream = _within(stream, skipped or 0, end - begin)
            for number, table in enumerate(cut(stream, size), first):
                # The name of a column, a.b, may be that of a field of another one, which is read with it.
                yield number, table.select(columns), range(number * size, number * size + table.num_rows), []


def _within(batches: Iterator[pa.RecordBatch], skip: int, count: int) -> Iterator[pa.RecordBatch]:
    """The rows after the first `skip`, at most `count`."""
    for batch in batches:
        if skip >= batch.num_rows:
            skip -= batch.num_rows
            continue
        found = batch.slice(skip, count)
        skip, count = 0, count - found.num_rows
        yield found
        if not count:
            return


def _runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The first and the last of each run of numbers without a gap."""
    start = 0
    for index, number in enumerate(numbers):
        if index + 1 == len(numbers) or numbers[index + 1] != number + 1:
            yield numbers[start], number
            start = index + 1
