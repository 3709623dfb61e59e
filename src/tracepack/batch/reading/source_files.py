"""Sources: the files of a job, and the parts into which their rows are cut.

A part is what is computed, written and, after a crash, computed again as one. Which rows it has depends on the source
and on the number of rows of a part alone, so that a job that goes on finds the parts that are there.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa
import pyarrow.parquet as pq

from ...ops.graph.errors import BatchError
from .csv_files import csv_parts, csv_schema
from .json_lines import NONE_LEFT_OUT, LeftOut, json_parts, json_schema_of
from .parquet_files import parquet_parts
from .parts import SAMPLE_BYTES, Part, require_utf8
from .schemas import merged

KINDS = {
    ".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl",
}  # fmt: skip
_PART_BYTES = 64 << 20
_MOST_ROWS = 1 << 17
_DECODED_ROWS = 64  # of which the size in memory is taken for that of all


@dataclass(frozen=True)
class SourceFile:
    """A file of the source: its name within it, and what tells that it was changed."""

    path: str
    name: str
    size: int
    changed: int


@dataclass(frozen=True)
class Source:
    """Files of one kind with one schema, in the order of their names.

    Attributes:
        path: of the file or the folder.
        kind: ``"parquet"``, ``"csv"``, ``"tsv"`` or ``"jsonl"``.
        files: in their order.
        schema: their columns.
        wanted: the columns that inputs take, with the dtypes of the inputs.
        left_out: the fields that lines of JSON may leave out.
    """

    path: str
    kind: str
    files: tuple[SourceFile, ...]
    schema: pa.Schema
    wanted: Mapping[str, str]
    left_out: LeftOut = NONE_LEFT_OUT

    def check(self, file: int) -> None:
        """Checks that a file is still the one that was found, so that no part mixes two.

        Raises:
            BatchError: it was changed, or is gone.
        """
        each = self.files[file]
        with contextlib.suppress(OSError):
            status = os.stat(each.path)
            if (status.st_size, status.st_mtime_ns) == (each.size, each.changed):
                return
        raise BatchError(
            "the file was changed while the job read it", where=repr(each.path), fix="Name another target.",
        )  # fmt: skip

    def part_rows(self, batch: int) -> int:
        """How many rows a part has: a multiple of the batch that takes some 64 MiB of memory.

        Raises:
            BatchError: the first file cannot be read.
        """
        first = self.files[0]
        if self.kind == "parquet":
            with _readable(first.path):
                found = pq.read_metadata(first.path)
                size = sum(found.row_group(group).total_byte_size for group in range(found.num_row_groups))
                wide = max(size / max(found.num_rows, 1), _decoded(first.path))
        else:
            with open(first.path, "rb") as opened:
                sample = opened.read(SAMPLE_BYTES)
            wide = len(sample) / max(sample.count(b"\n"), 1)
        wanted = min(_PART_BYTES / max(wide, 1), _MOST_ROWS)
        return max(1, int(wanted) // batch) * batch

    def count(self, file: int) -> int | None:
        """The number of rows of a file; None where only reading it would tell."""
        if self.kind != "parquet":
            return None
        with _readable(self.files[file].path):
            return int(pq.read_metadata(self.files[file].path).num_rows)

    def total(self) -> int | None:
        """The number of rows of all files; None where only reading them would tell."""
        counts = [self.count(file) for file in range(len(self.files))]
        return None if None in counts else sum(count or 0 for count in counts)

    def parts(
        self, file: int, columns: Sequence[str], size: int, is_done: Callable[[int], bool], id_column: str | None = None
    ) -> Iterator[Part]:
        """The parts of a file that are not done; bad rows have the value of the id column, where they say one.

        Raises:
            BatchError: the file cannot be read.
        """
        each = self.files[file]
        schema = pa.schema([self.schema.field(name) for name in columns])
        with _readable(each.path):
            match self.kind:
                case "parquet":
                    found = parquet_parts(each.path, columns, size, is_done)
                case "jsonl":
                    strict = len(columns) == len(self.schema.names)
                    found = json_parts(each.path, schema, size, is_done, strict, id_column, self.left_out)
                case _:
                    cells = "\t" if self.kind == "tsv" else ","
                    found = csv_parts(each.path, schema, size, is_done, cells, self.wanted, id_column)
            for number, rows, at, bad in found:
                yield Part(file, number, rows.cast(schema), at, bad)


@contextlib.contextmanager
def _readable(path: str) -> Iterator[None]:
    """Turns what Arrow says of a damaged file into an error that names the file."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise BatchError("cannot read the file", where=repr(path), got=str(error)[:200]) from error


def _decoded(path: str) -> float:
    """The bytes of a row in memory, about: equal values take much less in the file."""
    with pq.ParquetFile(path) as file:
        first = next(file.iter_batches(_DECODED_ROWS), None)
    return 0.0 if first is None else first.nbytes / max(first.num_rows, 1)


def find_source(path: str | os.PathLike[str], wanted: Mapping[str, str] = MappingProxyType({})) -> Source:
    """The source that a path names: a file, or a folder of files of one kind.

    Args:
        path: of the file or the folder.
        wanted: the columns that inputs take, with the dtypes of the inputs.

    Raises:
        BatchError: there is none, or its files are of several kinds or schemas.
    """
    root = Path(os.path.abspath(path))
    if not root.exists():
        raise BatchError("there is no such file or folder", where=repr(str(path)))
    found = [root] if root.is_file() else _files(root)
    kinds = {KINDS.get(each.suffix.lower(), each.suffix) for each in found}
    if len(kinds) != 1 or not kinds <= set(KINDS.values()):
        raise BatchError(
            "no source of one kind", where=repr(str(path)), got=", ".join(sorted(map(repr, kinds))) or "no files",
            expected=f"files of one kind: {' '.join(KINDS)}",
        )  # fmt: skip
    files = tuple(_file(each, root) for each in found)
    kind = kinds.pop()
    return Source(str(root), kind, files, _schema(kind, files, wanted), dict(wanted))


def _files(root: Path) -> list[Path]:
    """The files of a folder, but for those whose names start as the notes of other programs do.

    Raises:
        BatchError: one is a link that leads nowhere, or a pipe: its rows would be missing.
    """
    found = []
    for path in sorted(root.rglob("*")):
        if path.is_dir() or any(part.startswith((".", "_")) for part in path.relative_to(root).parts):
            continue
        if not path.is_file() and path.suffix.lower() in KINDS:
            raise BatchError("there is no file that can be read", where=repr(str(path)), fix="Remove the link or pipe.")
        if path.is_file():
            found.append(path)
    return found


def _file(path: Path, root: Path) -> SourceFile:
    status = path.stat()
    name = path.name if path == root else path.relative_to(root).as_posix()
    return SourceFile(require_utf8(str(path)), name, status.st_size, status.st_mtime_ns)


def _schema(kind: str, files: Sequence[SourceFile], wanted: Mapping[str, str]) -> pa.Schema:
    """The schema of all files.

    Raises:
        BatchError: a file has another one, or cannot be read.
    """
    found: pa.Schema | None = None
    for each in files:
        try:
            match kind:
                case "parquet":
                    schema = pa.schema([_viewless(field) for field in pq.read_schema(each.path)])
                case "jsonl":
                    schema = json_schema_of(each.path)
                case _:
                    schema = csv_schema(each.path, "\t" if kind == "tsv" else ",", wanted)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise BatchError("cannot read the file", where=repr(each.path), got=str(error)[:200]) from error
        if len(set(schema.names)) < len(schema.names):
            raise BatchError("two columns have one name", where=repr(each.path), got=", ".join(schema.names))
        if found is None:
            found = schema
        elif kind == "jsonl":
            found = merged(found, schema)
        elif kind == "parquet" and not schema.equals(found):
            raise BatchError(
                "the file has other columns than the first", where=repr(each.path), got=_columns(schema),
                expected=_columns(found),
            )  # fmt: skip
        elif schema.names != found.names:
            raise BatchError(
                "the file has other columns than the first", where=repr(each.path), got=", ".join(schema.names),
                expected=", ".join(found.names),
            )  # fmt: skip
        else:
            found = merged(found, schema)
    assert found is not None
    empty = pa.string() if kind in ("csv", "tsv") else pa.null()
    plain = [each.remove_metadata() for each in found]
    return pa.schema([each.with_type(empty) if pa.types.is_null(each.type) else each for each in plain])


def _viewless(field: pa.Field) -> pa.Field:
    """A column of texts or bytes in the plain form, since Arrow cannot pick rows of views; any may hold nulls."""
    return field.with_type(_plain_type(field.type)).with_nullable(True)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    inner = {n: _plain_type(kind.field(n).type) for n in range(kind.num_fields)}
    if all(kind.field(n).type == plain for n, plain in inner.items()):
        return pa.string() if kind == pa.string_view() else pa.binary() if kind == pa.binary_view() else kind
    fields = [kind.field(n).with_type(plain) for n, plain in inner.items()]
    if pa.types.is_struct(kind):
        return pa.struct(fields)
    if pa.types.is_map(kind):
        return pa.map_(
            kind.key_field.with_type(_plain_type(kind.key_type)), kind.item_field.with_type(_plain_type(kind.item_type))
        )
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(fields[0], kind.list_size)
    return pa.large_list(fields[0]) if pa.types.is_large_list(kind) else pa.list_(fields[0])


def _columns(schema: pa.Schema) -> str:
    return ", ".join(f"{each.name}: {each.type}" for each in schema)
