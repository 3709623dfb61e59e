"""CSV and JSON lines: read by pyarrow part by part, where a line that it cannot read costs that row alone."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.json as pa_json

from ...ops.graph.errors import BatchError
from .parts import SAMPLE_BYTES, BadRow, Found, cut, taken

_KEPT_AS_TEXT = {b"tracepack": b"looks like numbers"}  # of a column, where another file may have numbers
_FLOATING = r"^[+-]?([0-9]+[.][0-9]*|[.][0-9]+|[0-9]+(?:[.][0-9]*)?[eE][+-]?[0-9]+)$"
_PADDED = r"^[+-]?0[0-9]+$"  # the zeros would be lost
_LARGE = r"^[+-]?[0-9]{16,}$"  # an integer that may be no floating number
_BLOCK = 4 << 20  # bytes of CSV that are parsed at a time; a row is shorter


# -- JSON lines ------------------------------------------------------------------------------------------------


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


def merged(known: pa.Schema, found: pa.Schema) -> pa.Schema:
    """The columns of what was read first and of what follows. The first type of a column stays, but for a wider number
    and for texts that are no numbers although they look so.
    """
    fields = {each.name: each for each in known}
    for each in found:
        before = fields.setdefault(each.name, each)
        wider = pa.types.is_floating(each.type) and pa.types.is_integer(before.type)
        if pa.types.is_null(before.type) or wider or each.metadata == _KEPT_AS_TEXT:
            fields[each.name] = each
    return pa.schema(fields.values())


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
    except (ValueError, AttributeError):
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
    path: str, schema: pa.Schema, size: int, is_done: Callable[[int], bool], strict: bool, id_column: str | None = None
) -> Found:
    """The parts of a file of JSON lines that are not done.

    Args:
        path: of the file.
        schema: of the columns that are read.
        size: the rows of a part.
        is_done: whether the part of a number is done.
        strict: whether a field that the schema lacks makes a bad row, since it would be lost.
        id_column: the column that names bad rows.
    """
    others = "error" if strict else "ignore"
    with open(path, "rb") as file:
        lines, number = _lines(file), 0
        while block := list(islice(lines, size)):
            if not is_done(number):
                at: list[int] = []
                bad: list[BadRow] = []
                tables: list[pa.Table] = []
                for begin, end, found in _json(block, 0, len(block), schema, others):
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
    return (found for _, _, found in _json(lines, 0, len(lines), schema, "infer") if isinstance(found, pa.Table))


def _json(
    lines: Sequence[bytes], begin: int, end: int, schema: pa.Schema | None, others: str
) -> Iterator[tuple[int, int, pa.Table | str]]:
    """Ranges of lines with the table that they are; a line that is no row of the schema, with what is wrong."""
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
        yield from _json(lines, begin, middle, schema, others)
        yield from _json(lines, middle, end, schema, others)


# -- CSV -------------------------------------------------------------------------------------------------------


def csv_schema(path: str, delimiter: str, numbers: Mapping[str, str] = MappingProxyType({})) -> pa.Schema:
    """The columns and their types, from the rows at the beginning; null where all cells are empty.

    A column of numbers that are not the same when they are written again is one of texts: 007, or an integer that no
    floating number is. A column of which an input takes numbers is one of numbers where most cells are, 007 among
    them: the other cells make bad rows.

    Args:
        path: of the file.
        delimiter: between cells.
        numbers: the columns of which inputs take numbers, with the dtypes of the inputs.
    """
    reading = pa_csv.ReadOptions(use_threads=False, block_size=SAMPLE_BYTES)
    parsing = pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=lambda row: "skip")
    with pa_csv.open_csv(path, reading, parsing) as reader:
        schema = pa.schema(
            [each.with_type(pa.string()) if pa.types.is_binary(each.type) else each for each in reader.schema]
        )  # bytes are texts with cells that are not in UTF-8
    names = [
        each.name
        for each in schema
        if pa.types.is_integer(each.type)
        or pa.types.is_floating(each.type)
        or (each.name in numbers and pa.types.is_string(each.type))
    ]
    if not names or len(set(schema.names)) < len(schema.names):
        return schema
    texts = pa_csv.ConvertOptions(column_types=dict.fromkeys(schema.names, pa.binary()), include_columns=names)
    with pa_csv.open_csv(path, reading, parsing, texts) as reader:
        sample: Any = next(iter(reader), None)
    for name in names if sample is not None else ():
        field = schema.field(name)
        if pa.types.is_string(field.type):
            field = field.with_type(_type_of_most(sample[name]))
            schema = schema.set(schema.get_field_index(name), field)
        pattern = _changing(field.type, numbers.get(name))
        if pattern and pc.any(pc.match_substring_regex(sample[name], pattern)).as_py():
            kept = field.with_type(pa.string()).with_metadata(_KEPT_AS_TEXT)
            schema = schema.set(schema.get_field_index(name), kept)
    return schema


def _changing(kind: pa.DataType, dtype: str | None) -> str | None:
    """What matches the cells that numbers of a type would change; None where there are none that count.

    Args:
        kind: of the numbers.
        dtype: that of the input that takes the column; it takes numbers, so that 007 is one.
    """
    if dtype is not None:
        return _LARGE if pa.types.is_floating(kind) and dtype.startswith(("int", "uint")) else None
    return _PADDED if pa.types.is_integer(kind) else f"{_PADDED}|{_LARGE}" if pa.types.is_floating(kind) else None


def _type_of_most(cells: pa.Array) -> pa.DataType:
    """The type of numbers that most cells are; text where they are none."""
    whole = pc.sum(pc.match_substring_regex(cells, r"^[+-]?[0-9]{1,18}$")).as_py() or 0
    floating = pc.sum(pc.match_substring_regex(cells, _FLOATING)).as_py() or 0
    filled = pc.sum(pc.not_equal(cells, b"")).as_py() or 0
    if 2 * (whole + floating) <= filled:
        return pa.string()
    return pa.float64() if floating else pa.int64()


def csv_parts(
    path: str,
    schema: pa.Schema,
    size: int,
    is_done: Callable[[int], bool],
    delimiter: str,
    numbers: Mapping[str, str] = MappingProxyType({}),
    id_column: str | None = None,
) -> Found:
    """The parts of a CSV file that are not done.

    All columns are read as text, since a cell that is no number would end the reading; then each gets its type.

    Args:
        path: of the file.
        schema: of the columns that are read.
        size: the rows of a part.
        is_done: whether the part of a number is done.
        delimiter: between cells.
        numbers: as in `csv_schema`.
        id_column: the column that names bad rows.
    """
    patterns = {each.name: _changing(each.type, numbers.get(each.name)) for each in schema}
    unread: list[Any] = []

    def skip(row: Any) -> str:
        unread.append(row)
        return "skip"

    texts = pa_csv.ConvertOptions(
        column_types=dict.fromkeys(schema.names, pa.binary()), include_columns=schema.names, strings_can_be_null=False
    )
    reading = pa_csv.ReadOptions(use_threads=False, block_size=_BLOCK)
    parsing = pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=skip)
    with pa_csv.open_csv(path, reading, parsing, texts) as reader:
        for number, table in enumerate(cut(iter(reader), size)):
            lines, unread[:] = list(unread), []
            if is_done(number):
                continue
            rows, good, bad = _typed(table, schema, patterns)
            first = number * size
            at = [first + index for index in good]
            found = [BadRow(first + row, error, id=_id_of_cell(table, schema, row, id_column)) for row, error in bad]
            yield number, rows, at, found + [_unread(row) for row in lines]


def _unread(row: Any) -> BadRow:
    got = f"line {row.number} has " if row.number is not None else ""
    return BadRow(None, f"{got}{row.actual_columns} columns, expected {row.expected_columns}: {row.text[:100]!r}")


def _id_of_cell(table: pa.Table, schema: pa.Schema, row: int, id_column: str | None) -> Any:
    """The id of a row with a bad cell; None where that is the id itself."""
    with contextlib.suppress(pa.ArrowInvalid):
        if id_column is not None:
            return _cells(table[id_column].slice(row, 1), schema.field(id_column).type, None)[0].as_py()
    return None


def _typed(
    table: pa.Table, schema: pa.Schema, patterns: Mapping[str, str | None]
) -> tuple[pa.Table, Sequence[int], list[tuple[int, str]]]:
    """The rows with the types of the schema, which they are, and those with a cell that is not of its type."""
    try:
        return _cast(table, schema, patterns), range(table.num_rows), []
    except pa.ArrowInvalid:
        wrong: dict[int, str] = {}
        for each in schema:
            for row, error in _wrong(table[each.name], each.type, patterns[each.name]):
                wrong.setdefault(row, f"column {each.name!r}: {error}")
        good = [row for row in range(table.num_rows) if row not in wrong]
        return _cast(taken(table, good), schema, patterns), good, sorted(wrong.items())


def _cast(table: pa.Table, schema: pa.Schema, patterns: Mapping[str, str | None]) -> pa.Table:
    return pa.table([_cells(table[each.name], each.type, patterns[each.name]) for each in schema], schema=schema)


def _cells(column: pa.ChunkedArray, kind: pa.DataType, changing: str | None) -> pa.ChunkedArray:
    """Cells of a type, from their bytes; an empty one of anything but text is null.

    Raises:
        ArrowInvalid: a cell is no text in UTF-8, none of the type, or one that the type would change.
    """
    text = column.cast(pa.string())
    if pa.types.is_string(kind):
        return text
    found = pc.if_else(pc.equal(text, ""), None, text).cast(kind)
    if changing and pc.any(pc.match_substring_regex(column, changing)).as_py():
        raise pa.ArrowInvalid(f"{kind}, which the column has at the beginning of the file, would change the cell")
    return found


def _wrong(column: pa.ChunkedArray, kind: pa.DataType, changing: str | None) -> Iterator[tuple[int, str]]:
    try:
        _cells(column, kind, changing)
    except pa.ArrowInvalid:
        for row in range(len(column)):
            try:
                _cells(column.slice(row, 1), kind, changing)
            except pa.ArrowInvalid as error:
                yield row, str(error)[:200]
