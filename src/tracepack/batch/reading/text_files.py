"""CSV and JSON lines: read by pyarrow part by part, where a line that it cannot read costs that row alone."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.json as pa_json

from .parts import SAMPLE_BYTES, BadRow, Found, cut

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
    fields: dict[str, pa.Field] = {}
    for table in _tables(lines, None):
        for each in table.schema:
            known = fields.get(each.name)
            if known is None or pa.types.is_null(known.type) or _wider(each.type, known.type):
                fields[each.name] = each
    return pa.schema(fields.values())


def _wider(found: pa.DataType, known: pa.DataType) -> bool:
    return bool(pa.types.is_floating(found) and pa.types.is_integer(known))


def json_parts(path: str, schema: pa.Schema, size: int, is_done: Callable[[int], bool]) -> Found:
    """The parts of a file of JSON lines that are not done."""
    with open(path, "rb") as file:
        lines, number = _lines(file), 0
        while block := list(islice(lines, size)):
            if not is_done(number):
                at: list[int] = []
                bad: list[BadRow] = []
                tables: list[pa.Table] = []
                for begin, end, found in _json(block, 0, len(block), schema):
                    if isinstance(found, pa.Table):
                        tables.append(found)
                        at += range(number * size + begin, number * size + end)
                    else:
                        bad.append(BadRow(number * size + begin, found))
                yield number, pa.concat_tables([schema.empty_table(), *tables]), at, bad
            number += 1


def _lines(file: Any) -> Iterator[bytes]:
    """The lines that are rows."""
    return (line for line in file if not line.isspace())


def _tables(lines: Sequence[bytes], schema: pa.Schema | None) -> Iterator[pa.Table]:
    return (found for _, _, found in _json(lines, 0, len(lines), schema) if isinstance(found, pa.Table))


def _json(
    lines: Sequence[bytes], begin: int, end: int, schema: pa.Schema | None
) -> Iterator[tuple[int, int, pa.Table | str]]:
    """Ranges of lines with the table that they are; a line that is no row of the schema, with what is wrong."""
    if begin == end:
        return
    data = b"".join(line if line.endswith(b"\n") else line + b"\n" for line in lines[begin:end])
    reading = pa_json.ReadOptions(block_size=min(len(data) + 1, (1 << 31) - 1))
    parsing = pa_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore" if schema else "infer")
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
        yield from _json(lines, begin, middle, schema)
        yield from _json(lines, middle, end, schema)


# -- CSV -------------------------------------------------------------------------------------------------------


def csv_schema(path: str, delimiter: str) -> pa.Schema:
    """The columns and their types, from the rows at the beginning."""
    reading = pa_csv.ReadOptions(use_threads=False, block_size=SAMPLE_BYTES)
    parsing = pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=lambda row: "skip")
    with pa_csv.open_csv(path, reading, parsing) as reader:
        return pa.schema([each if each.type != pa.null() else each.with_type(pa.string()) for each in reader.schema])


def csv_parts(path: str, schema: pa.Schema, size: int, is_done: Callable[[int], bool], delimiter: str) -> Found:
    """The parts of a CSV file that are not done.

    All columns are read as text, since a cell that is no number would end the reading; then each gets its type.
    """
    unread: list[Any] = []

    def skip(row: Any) -> str:
        unread.append(row)
        return "skip"

    names = _header(path, delimiter)
    texts = pa_csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()), include_columns=schema.names, strings_can_be_null=False
    )
    reading = pa_csv.ReadOptions(use_threads=False, block_size=_BLOCK)
    parsing = pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=skip)
    with pa_csv.open_csv(path, reading, parsing, texts) as reader:
        for number, table in enumerate(cut(iter(reader), size)):
            lines, unread[:] = list(unread), []
            if is_done(number):
                continue
            rows, good, bad = _typed(table, schema)
            first = number * size
            at = [first + index for index in good]
            found = [BadRow(first + row, error) for row, error in bad]
            yield number, rows, at, found + [_unread(row) for row in lines]


def _header(path: str, delimiter: str) -> list[str]:
    with open(path, newline="", encoding="utf-8-sig") as file:
        return next(csv.reader(file, delimiter=delimiter), [])


def _unread(row: Any) -> BadRow:
    got = f"line {row.number} has " if row.number is not None else ""
    return BadRow(None, f"{got}{row.actual_columns} columns, expected {row.expected_columns}: {row.text[:100]!r}")


def _typed(table: pa.Table, schema: pa.Schema) -> tuple[pa.Table, Sequence[int], list[tuple[int, str]]]:
    """The rows with the types of the schema, which they are, and those with a cell that is not of its type."""
    try:
        return _cast(table, schema), range(table.num_rows), []
    except pa.ArrowInvalid:
        wrong: dict[int, str] = {}
        for each in schema:
            for row, error in _wrong(table[each.name], each.type):
                wrong.setdefault(row, f"column {each.name!r}: {error}")
        good = [row for row in range(table.num_rows) if row not in wrong]
        return _cast(table.take(good), schema), good, sorted(wrong.items())


def _cast(table: pa.Table, schema: pa.Schema) -> pa.Table:
    return pa.table([_cells(table[each.name], each.type) for each in schema], schema=schema)


def _cells(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Cells of a type; an empty one of anything but text is null."""
    if pa.types.is_string(kind):
        return column
    return pc.if_else(pc.equal(column, ""), None, column).cast(kind)


def _wrong(column: pa.ChunkedArray, kind: pa.DataType) -> Iterator[tuple[int, str]]:
    try:
        _cells(column, kind)
    except pa.ArrowInvalid:
        for row in range(len(column)):
            try:
                _cells(column.slice(row, 1), kind)
            except pa.ArrowInvalid as error:
                yield row, str(error)[:200]
