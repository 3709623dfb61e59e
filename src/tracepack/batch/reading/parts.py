"""Parts: the rows that are computed, written and, after a crash, computed again as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from ...ops.graph.errors import BatchError

SAMPLE_BYTES = 1 << 20  # of a text file, from which its columns are inferred


@dataclass(frozen=True)
class BadRow:
    """A row that gave no answer.

    Attributes:
        row: its number in its file, from 0, where lines of CSV with another number of columns do not count; None for
            such a line.
        error: what is wrong.
        line: where it failed: the node and the user's line; empty where the row cannot be read.
        id: its value of the id column, as of `cell`, if there is one and the row says it; a line with another number of
            cells does not, since none of them is sure to be the id.
    """

    row: int | None
    error: str
    line: str = ""
    id: Any = None


@dataclass(frozen=True)
class Part:
    """The rows of a part.

    Attributes:
        file: the number of its file.
        number: its number in the file.
        rows: those that could be read.
        at: the number in the file of each of them.
        bad: the others.
    """

    file: int
    number: int
    rows: pa.Table
    at: Sequence[int]
    bad: list[BadRow] = field(default_factory=list)


def cell(column: pa.ChunkedArray | pa.Array, row: int) -> Any:
    """The value of a cell; an array of it alone where Python has no such value, as for times beyond the year 9999."""
    try:
        return column[row].as_py()
    except (ValueError, OverflowError, ImportError, pa.ArrowException):
        found = column.slice(row, 1).take(pa.array([0], pa.int64()))
        return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def undecodable(column: pa.Array) -> list[int]:
    """The rows of a column of texts, or of what holds some, that are not in UTF-8; files may hold any bytes."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return [row for row in range(len(column)) if isinstance(cell(column, row), pa.Array)]
    return []


def taken(rows: pa.Table, wanted: Sequence[int]) -> pa.Table:
    """Some rows of a table; of none Arrow would not know the type of their numbers."""
    return rows.take(pa.array(wanted, pa.int64()))


def require_utf8(path: str) -> str:
    """A path that pyarrow can open, and a table of bad rows can name.

    Raises:
        BatchError: its name is no text in UTF-8, as a file of another system's may be.
    """
    try:
        path.encode()
    except UnicodeEncodeError:
        raise BatchError("the name is not in UTF-8", where=repr(path), fix="Rename the file or folder.") from None
    return path


Found = Iterator[tuple[int, pa.Table, Sequence[int], list[BadRow]]]


def cut(batches: Iterator[pa.RecordBatch], size: int) -> Iterator[pa.Table]:
    """Tables of `size` rows from record batches of any size; the last may have fewer."""
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        start = 0
        while count + batch.num_rows - start >= size:
            held.append(batch.slice(start, size - count))
            start += size - count
            yield pa.Table.from_batches(held)
            held, count = [], 0
        if start < batch.num_rows:
            held.append(batch.slice(start))
            count += batch.num_rows - start
    if held:
        yield pa.Table.from_batches(held)
