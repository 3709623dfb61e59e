"""CSV, read by pyarrow part by part, where a line or a cell that it cannot read costs that row alone."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from .parts import SAMPLE_BYTES, BadRow, Found, cell, cut, taken
from .schemas import KEPT

_FLOATING = r"^[+-]?([0-9]+[.][0-9]*|[.][0-9]+|[0-9]+(?:[.][0-9]*)?[eE][+-]?[0-9]+)$"
_PADDED = r"^[+-]?0([0-9]+|[xX].*)$"  # the zeros would be lost, or that the number was hexadecimal
_LARGE = r"^[+-]?[0-9]{16,}$"  # an integer that may be no floating number
_BLOCK = 4 << 20  # bytes of CSV that are parsed at a time; a row is shorter


def csv_schema(path: str, delimiter: str, wanted: Mapping[str, str] = MappingProxyType({})) -> pa.Schema:
    """The columns and their types, from the rows at the beginning; null where all cells are empty.

    A column that no input takes is one of texts where a cell at the beginning is none of the others' type, or would
    not be the same when it is written again: NA among numbers, 007, 12:30, or an integer that no floating number is.
    A column of which an input takes numbers is one of numbers where most cells are, 007 among them: the other cells
    make bad rows. One of which an input takes texts is one of texts.

    Args:
        path: of the file.
        delimiter: between cells.
        wanted: the columns that inputs take, with the dtypes of the inputs, "str" among them.
    """
    try:
        return _schema_of(path, delimiter, wanted, SAMPLE_BYTES)
    except pa.ArrowInvalid:  # where a line is longer than that
        return _schema_of(path, delimiter, wanted, _BLOCK)


def _schema_of(path: str, delimiter: str, wanted: Mapping[str, str], size: int) -> pa.Schema:
    """The schema that so many bytes at the beginning show."""
    reading = pa_csv.ReadOptions(use_threads=False, block_size=size)
    parsing = pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=lambda row: "skip")
    with pa_csv.open_csv(path, reading, parsing) as reader:
        schema = pa.schema(
            [each.with_type(pa.string()) if pa.types.is_binary(each.type) else each for each in reader.schema]
        )  # bytes are texts with cells that are not in UTF-8
    if len(set(schema.names)) < len(schema.names):
        return schema
    names = [each.name for each in schema if each.name in wanted or not pa.types.is_string(each.type)]
    texts = pa_csv.ConvertOptions(column_types=dict.fromkeys(schema.names, pa.binary()), include_columns=names)
    with pa_csv.open_csv(path, reading, parsing, texts) as reader:
        sample: Any = next(iter(reader), None) if names else None
    return pa.schema([_field(each, sample, wanted) for each in schema])


def _field(field: pa.Field, sample: Any, wanted: Mapping[str, str]) -> pa.Field:
    """A column with the type that suits the cells of a sample; None is one without rows."""
    if field.name not in wanted:
        field = field.with_metadata(KEPT)
        if sample is None or pa.types.is_string(field.type) or _are(sample[field.name], field.type):
            return field
        return field.with_type(pa.string())
    dtype = wanted[field.name]
    if dtype == "str":
        return field.with_type(pa.string())
    if sample is None:
        return field
    if pa.types.is_string(field.type):
        field = field.with_type(_type_of_most(sample[field.name], dtype))
    pattern = _changing(field.type, dtype)
    changed = pattern and pc.any(pc.match_substring_regex(sample[field.name], pattern)).as_py()
    return field.with_type(pa.string()) if changed else field


def _are(cells: pa.Array, kind: pa.DataType) -> bool:
    """Whether all cells of a column that no input takes are of a type; Arrow casts no text to a time, nor to null."""
    if pa.types.is_null(kind):
        return not pc.max(pc.binary_length(cells)).as_py()
    try:
        _cells(pa.chunked_array([cells]), kind, _changing(kind, None))
    except pa.ArrowException:
        return False
    return True


def _changing(kind: pa.DataType, dtype: str | None) -> str | None:
    """What matches the cells that numbers of a type would change; None where there are none that count.

    Args:
        kind: of the numbers.
        dtype: that of the input that takes the column; it takes numbers, so that 007 is one.
    """
    if dtype is not None:
        return _LARGE if pa.types.is_floating(kind) and dtype.startswith(("int", "uint")) else None
    return _PADDED if pa.types.is_integer(kind) else f"{_PADDED}|{_LARGE}" if pa.types.is_floating(kind) else None


def _type_of_most(cells: pa.Array, dtype: str) -> pa.DataType:
    """The type of numbers, or of flags for a dtype of them, that most cells are; text where they are none."""
    if dtype == "bool":
        flags = pc.sum(pc.match_substring_regex(cells, r"^(?i:true|false)$")).as_py() or 0
        filled = pc.sum(pc.not_equal(cells, b"")).as_py() or 0
        return pa.bool_() if 2 * flags > filled else pa.string()
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
    wanted: Mapping[str, str] = MappingProxyType({}),
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
        wanted: as in `csv_schema`.
        id_column: the column that names bad rows.
    """
    patterns = {each.name: _changing(each.type, wanted.get(each.name)) for each in schema}
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
            return cell(_cells(table[id_column].slice(row, 1), schema.field(id_column).type, None), 0)
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
