"""JSON lines, read by pyarrow part by part, where a line that it cannot read costs that row alone."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json as pa_json

from ...ops.graph.errors import BatchError
from .parts import SAMPLE_BYTES, BadRow, Found
from .schemas import merged

_DEEPEST = 100  # levels of lists and objects of a line
_SECOND_NULL = re.compile(rb"\}\s*null")  # behind an object, if it is not within a text
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_Range = tuple[int, int, "pa.Table | str"]


@dataclass(frozen=True)
class LeftOut:
    """The fields that lines may leave out, because the inputs that take them have defaults.

    Attributes:
        known: those that are columns. Arrow has a null for a field that is left out, so a null in the line itself is
            told from it here: the default stands for the first only.
        unseen: those that no line at the beginning has, so that Arrow would pass over them in a later one.
    """

    known: frozenset[str] = frozenset()
    unseen: frozenset[str] = frozenset()

    def fault(self, line: bytes) -> str:
        """Why the default must not stand for what a line says; empty where it may."""
        if not any(name.encode() in line or b"\\" in line for name in self.known | self.unseen):
            return ""
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            return ""  # Arrow says why it is no row
        if null := next((name for name in sorted(self.known & said.keys()) if said[name] is None), ""):
            return f"column {null!r} is null"
        found = next(iter(sorted(self.unseen & said.keys())), "")
        return f"no row of the source: the lines at the beginning have no field {found!r}" if found else ""


NONE_LEFT_OUT = LeftOut()


def json_schema_of(path: str) -> pa.Schema:
    """The columns and their types, from the lines at the beginning."""
    lines = []
    with open(path, "rb") as file:
        size = 0
        for line in _lines(file):
            lines.append(line)
            size += len(line)
            if size > SAMPLE_BYTES:
                break
    schema = pa.schema([])
    # Where a line does not fit those beside it, what most lines say comes first.
    for table in sorted(_tables(lines, None), key=lambda table: -table.num_rows):
        schema = merged(schema, table.schema)
    return pa.schema([each.with_type(_exact(each, lines, path)) for each in schema])


def _exact(field: pa.Field, lines: Sequence[bytes], path: str) -> pa.DataType:
    """The type of a column that keeps what the lines say: JSON has no times, and Arrow takes large integers for floats.

    Raises:
        BatchError: no column can hold the numbers.
    """
    if not pa.types.is_floating(field.type):
        return _without_times(field.type)
    numbers = [value for value in (_value(line, field.name) for line in lines) if value is not None]
    whole = [value for value in numbers if type(value) is int]
    if not whole or max(map(abs, whole)) <= 1 << 53:
        return field.type
    if len(whole) == len(numbers) and min(whole) >= 0 and max(whole) < 1 << 64:
        return pa.uint64()
    raise BatchError(
        "no column holds these numbers", where=f"{path!r}, column {field.name!r}", got=max(whole, key=abs),
        fix="Write them as texts.",
    )  # fmt: skip


def _value(line: bytes, name: str) -> Any:
    try:
        return json.loads(line).get(name)
    except (ValueError, AttributeError, RecursionError):
        return None


def _without_times(kind: pa.DataType) -> pa.DataType:
    """A type with texts in place of times, which Arrow takes texts for that look so."""
    if pa.types.is_timestamp(kind):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(_without_times(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_without_times(field.type)) for field in kind])
    return kind


def json_parts(
    path: str,
    schema: pa.Schema,
    size: int,
    is_done: Callable[[int], bool],
    strict: bool,
    id_column: str | None = None,
    left_out: LeftOut = NONE_LEFT_OUT,
) -> Found:
    """The parts of a file of JSON lines that are not done.

    Args:
        path: of the file.
        schema: of the columns that are read.
        size: the rows of a part.
        is_done: whether the part of a number is done.
        strict: whether a field that the schema lacks makes a bad row, since it would be lost.
        id_column: the column that names bad rows.
        left_out: the fields that a line may leave out.
    """
    others = "error" if strict else "ignore"
    with open(path, "rb") as file:
        lines, number = _lines(file), 0
        while block := list(islice(lines, size)):
            if not is_done(number):
                at: list[int] = []
                bad: list[BadRow] = []
                tables: list[pa.Table] = []
                for begin, end, found in _json(block, schema, others, left_out):
                    if isinstance(found, pa.Table):
                        tables.append(found)
                        at += range(number * size + begin, number * size + end)
                    else:
                        name = _id_of_line(block[begin], schema, id_column)
                        bad.append(BadRow(number * size + begin, found, id=name))
                yield number, pa.concat_tables([schema.empty_table(), *tables]), at, bad
            number += 1


def _id_of_line(line: bytes, schema: pa.Schema, id_column: str | None) -> Any:
    """The id that a line says although it is no row; None where it says none, or one of another type."""
    value = None if id_column is None else _value(line, id_column)
    with contextlib.suppress(pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.scalar(value, schema.field(id_column).type).as_py() if value is not None else None
    return None


def _lines(file: Any) -> Iterator[bytes]:
    """The lines that are rows."""
    return (line for line in file if not line.isspace())


def _tables(lines: Sequence[bytes], schema: pa.Schema | None) -> Iterator[pa.Table]:
    return (found for _, _, found in _json(lines, schema, "infer") if isinstance(found, pa.Table))


def _json(
    lines: Sequence[bytes], schema: pa.Schema | None, others: str, left_out: LeftOut = NONE_LEFT_OUT
) -> Iterator[_Range]:
    """Ranges of lines with the table that they are; a line that is no row of the schema, with what is wrong."""
    begin = 0
    for index, line in enumerate(lines):
        reason = f"no row of the source: {reason}" if (reason := _no_object(line)) else left_out.fault(line)
        if reason:
            yield from _parsed(lines, begin, index, schema, others)
            yield index, index + 1, reason
            begin = index + 1
    yield from _parsed(lines, begin, len(lines), schema, others)


def _no_object(line: bytes) -> str:
    """Why a line must not reach Arrow; empty where it may. Arrow's reader ends the process on null in place of an
    object, and on lists in very many lists, and takes texts that are not in UTF-8.
    """
    if not line.isascii():
        try:
            line.decode()
        except UnicodeDecodeError as error:
            return f"not in UTF-8: {error}"
    if not line.startswith(b"{") and not line.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
        return "not one JSON object"
    if _SECOND_NULL.search(line) and not _is_object(line):
        return "not one JSON object"
    deep = line.count(b"[") + line.count(b"{") > _DEEPEST and _depth(line) > _DEEPEST
    return f"more than {_DEEPEST} levels of lists and objects" if deep else ""


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _depth(line: bytes) -> int:
    """The depth of the lists and objects of a line, but for what is in its texts."""
    letters = np.frombuffer(_TEXT.sub(b"", line), np.uint8)
    opened, closed = np.isin(letters, list(b"[{")), np.isin(letters, list(b"]}"))
    return int(np.cumsum(opened.astype(np.int64) - closed).max(initial=0))


def _parsed(lines: Sequence[bytes], begin: int, end: int, schema: pa.Schema | None, others: str) -> Iterator[_Range]:
    if begin == end:
        return
    data = b"".join(line if line.endswith(b"\n") else line + b"\n" for line in lines[begin:end])
    reading = pa_json.ReadOptions(block_size=min(len(data) + 1, (1 << 31) - 1))
    parsing = pa_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior=others)
    try:
        table = pa_json.read_json(pa.BufferReader(data), reading, parsing)
        if table.num_rows != end - begin:
            raise pa.ArrowInvalid("not one JSON object on each line")
        yield begin, end, table if schema is None else table.select(schema.names)
    except pa.ArrowException as error:
        if end - begin == 1:
            yield begin, end, f"no row of the source: {str(error)[:200]}"
            return
        middle = (begin + end) // 2
        yield from _parsed(lines, begin, middle, schema, others)
        yield from _parsed(lines, middle, end, schema, others)
