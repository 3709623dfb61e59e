"""What a job is: its source, its target, and what is done with each part."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa

from ..ops.graph.errors import BatchError
from ..pipeline.pipeline import Pipeline
from .reading.json_lines import LeftOut
from .reading.parts import Part
from .reading.source_files import Source, find_source
from .rows.batch_size import measured, sound_values
from .rows.cell_dtypes import wanted_dtypes
from .rows.columns import ColumnBinding, bind
from .rows.compute import Work
from .rows.isolation import outcome
from .rows.lone_rows import check_alone
from .rows.output_columns import OutputTable
from .rows.row_difference import DEPENDS
from .rows.spot_checks import SpotChecks
from .target import JobKey, TargetFolder

_FIRST_ROWS, _FEW_ROWS = 16384, 64
Progress = Callable[[int, "int | None", int], None]
"""Called with the rows that are done, all rows where that is known, and the bad rows."""


@dataclass(frozen=True)
class Plan:
    """A job whose target is claimed.

    Attributes:
        source: the files.
        target: the folder.
        work: what is done with a part.
        part_rows: the rows of a part.
        checks: of rows while the job runs.
    """

    source: Source
    target: TargetFolder
    work: Work
    part_rows: int
    checks: SpotChecks

    @property
    def columns(self) -> list[str]:
        """The columns that are read, in the order of the source."""
        wanted = self.work.columns
        return [name for name in self.source.schema.names if name in wanted]

    def parts(self, file: int, is_done: Callable[[int], bool]) -> Iterator[Part]:
        """The parts of a file that are not done.

        Raises:
            BatchError: the file cannot be read.
        """
        return self.source.parts(file, self.columns, self.part_rows, is_done, self.work.id)

    def do(self, part: Part) -> tuple[pa.Table, list[Any]]:
        """Computes a part; in a process of its own where an earlier start ended in it.

        Raises:
            BatchError: a row gives something else alone.
        """
        self.source.check(part.file)
        again = self.target.begin(part.file, part.number)
        self.checks.file = self.source.files[part.file].name
        with self._doubting():
            found = self.work.compute(part, self.checks.after, isolated=again)
        self.checks.end_part()
        return found

    def check_last(self) -> None:
        """Checks the last run, when all parts are computed.

        Raises:
            BatchError: a row gives something else alone.
        """
        with self._doubting():
            self.checks.end()

    @contextlib.contextmanager
    def _doubting(self) -> Iterator[None]:
        """Notes in the target what is found of a row, so that no later start goes on with the answers there."""
        try:
            yield
        except BatchError as error:
            if error.what == DEPENDS:
                self.target.doubt(str(error))
            raise

    def write(self, part: Part, rows: pa.Table, bad: Sequence[Any]) -> None:
        """Writes a part."""
        self.target.write(part.file, part.number, rows, bad, self.source.files[part.file].name)


@dataclass(frozen=True)
class Setting:
    """A job whose target is not yet claimed; `work` has no batch size."""

    source: Source
    target: TargetFolder
    work: Work
    first: pa.Table
    key: JobKey

    def plan(self, batch_size: int | None, part_rows: int | None, *, apart: bool = False) -> Plan:
        """Claims the target; numbers that are not given are those of an earlier start, or measured.

        Args:
            batch_size: the rows of a run.
            part_rows: the rows of a part.
            apart: whether this process computes no part: no row may end it.

        Raises:
            BatchError: the target belongs to another job, or answers depend on the rows beside.
        """
        earlier = (self.target.manifest() or {}).get("job", {})
        batch = 1 if self.work.binding.by_row else batch_size or earlier.get("batch_size") or self._measured()
        if batch > 1:
            self._check(batch, apart)
        rows = part_rows or earlier.get("part_rows") or self.source.part_rows(batch)
        self.target.claim(replace(self.key, batch_size=batch, part_rows=rows))
        work = replace(self.work, batch=batch)
        return Plan(self.source, self.target, work, rows, SpotChecks(work))

    def _check(self, batch: int, apart: bool) -> None:
        """Checks rows from the beginning; in a process of its own where an earlier start ended in that.

        If that process ends as well, the first few rows are checked alone: others may hold the one that ends it.
        """
        again = self.target.begin_check()
        try:
            if (apart or again) and set(self.work.pipeline.placement.values()) <= {"cpu"}:
                if isinstance(outcome(partial(self._checked, self.first, batch)), str):
                    outcome(partial(self._checked, self.first.slice(0, _FEW_ROWS), batch))
                    return  # with the note, for later starts
            else:
                self._checked(self.first, batch)
        except Exception:
            self.target.end_check()
            raise
        self.target.end_check()

    def _checked(self, rows: pa.Table, batch: int) -> list[Any]:
        check_alone(self.work, rows, batch)
        return [batch]

    def _measured(self) -> int:
        return measured(self.work, *sound_values(self.work, self.first))


def prepared(
    pipeline: Pipeline,
    digest: str,
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    named: Mapping[str, str | Sequence[str]],
    keep: Sequence[str] | None,
    id_column: str | None,
) -> Setting:
    """Finds the source, the columns of all inputs, and the columns of the target.

    Raises:
        BatchError: something is missing, or does not fit.
    """
    found = find_source(source, wanted_dtypes(pipeline, named))
    names = found.schema.names
    kept = tuple(names if keep is None else keep)
    for name in (*kept, *([id_column] if id_column else [])):
        if name not in names:
            raise BatchError(f"the source has no column {name!r}", expected=", ".join(names))
    folder = TargetFolder(target, found.schema.field(id_column).type if id_column else None)
    if str(folder.path) == found.path or str(folder.path).startswith(found.path + os.sep):
        raise BatchError("the target is within the source", where=repr(str(folder.path)))
    first = _first(found, names)
    binding = bind(pipeline, found.schema, named, first, found.kind == "jsonl")
    found = replace(found, left_out=_left_out(pipeline, binding, found))
    answers = OutputTable(pipeline, binding.by_row)
    written = [*(n for n in names if n in kept or n == id_column), *answers.schema.names]
    if twice := sorted({name for name in written if written.count(name) > 1}):
        raise BatchError(
            f"an output is called like the column {twice[0]!r}", where=f"pipeline {pipeline.name!r}",
            fix="Leave the column out: name those to keep.",
        )  # fmt: skip
    inputs = {each.name: list(each.columns) for each in binding.inputs}
    files = [[each.name, each.size, each.changed] for each in found.files]
    key = JobKey(
        {"path": found.path, "files": files}, digest, inputs, sorted(kept), id_column, 0, 0,
    )  # fmt: skip
    return Setting(found, folder, Work(pipeline, binding, answers, 1, kept, id_column), first, key)


def _left_out(pipeline: Pipeline, binding: ColumnBinding, source: Source) -> LeftOut:
    """The fields that lines of JSON may leave out; a null stands for a default of None."""
    known = {each.name: each.columns[0] for each in binding.inputs if each.default and binding.by_row}
    optional = [field for field in pipeline.inputs if not field.required and len(field.path) == 1]
    values = {known[field.name] for field in optional if field.name in known and field.default is not None}
    given = {each.name for each in binding.inputs}
    unseen = {field.name for field in optional if field.name not in given and field.name not in source.schema.names}
    return LeftOut(frozenset(values), frozenset(unseen))


def _first(source: Source, columns: Sequence[str]) -> pa.Table:
    """Rows from the beginning of the source."""
    rows = min(_FIRST_ROWS, source.part_rows(1))
    for file in range(len(source.files)):
        for part in source.parts(file, columns, rows, lambda number: number > 0):
            if part.rows.num_rows:
                return part.rows
    raise BatchError("the source has no rows", where=repr(source.path))
