"""The computing of one part: its rows in batches, and a batch that fails halved until its bad rows are found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa
import torch

from ...ops.graph.errors import BatchError, TracepackError
from ...ops.graph.graph import Graph
from ...ops.graph.sharing.memory import touched
from ...pipeline.left_out.ways_without import ways_of
from ...pipeline.pipeline import Pipeline
from ..reading.parts import BadRow, Part, cell, taken
from .columns import ColumnBinding, Values
from .isolation import outcome
from .output_columns import OutputTable

Found = tuple[int, int, list[pa.Array] | BadRow]
"""A range of rows with its answers, or one row with what is wrong."""

Watch = Callable[[Values, int, int, list[pa.Array], Callable[[int], int]], None]
"""Called after each run of several rows: their values, the range, the answers, and what gives a row's number."""

_Watched = Callable[[int, int, list[pa.Array]], None]


@dataclass(frozen=True)
class Work:
    """What is done with each part.

    Attributes:
        pipeline: what runs.
        binding: how rows become inputs.
        answers: how outputs become columns.
        batch: how many rows a run takes.
        keep: the columns of the source that the target has, too.
        id: the column that names the rows in the table of errors.
    """

    pipeline: Pipeline
    binding: ColumnBinding
    answers: OutputTable
    batch: int
    keep: tuple[str, ...]
    id: str | None

    @cached_property
    def graph(self) -> Graph:
        """The graph that answers: another one where no column gives an argument that may be left out."""
        given = {each.name.partition(".")[0] for each in self.binding.inputs}
        ways = {way.names: way.program.graph for way in ways_of(self.pipeline.program)}
        return ways.get(frozenset[str]().union(*ways) - given, self.pipeline.graph)

    @cached_property
    def _writes(self) -> bool:
        """Whether a run may write into its inputs."""
        return bool(touched(self.graph).inputs())

    @property
    def columns(self) -> set[str]:
        """The columns that are read."""
        return {*self.binding.columns(), *self.keep, *([self.id] if self.id else [])}

    def compute(self, part: Part, watch: Watch, *, isolated: bool = False) -> tuple[pa.Table, list[BadRow]]:
        """The rows of the target, and the bad rows.

        Args:
            part: the part.
            watch: called after each run of several rows.
            isolated: whether batches run in a process of their own, since an earlier one ended in this part.
        """
        faults = self.binding.bad(part.rows)
        sound = [row for row in range(part.rows.num_rows) if row not in faults]
        rows = part.rows if not faults else taken(part.rows, sound)
        values, lost = self.binding.values(rows)
        if lost:
            faults |= {sound[row]: text for row, text in lost.items()}
            sound = [row for index, row in enumerate(sound) if index not in lost]
            rows = taken(part.rows, sound)
            values, _ = self.binding.values(rows)
        bad = [*part.bad, *(BadRow(part.at[row], text) for row, text in faults.items())]
        chunks, good = [], []
        at = part.at  # the part itself is let go of, whatever is kept to be checked later

        def watched(begin: int, end: int, answers: list[pa.Array]) -> None:
            watch(values, begin, end, answers, lambda row: at[sound[row]])

        for begin, end, found in self._ranges(values, len(sound), watched, isolated):
            if isinstance(found, BadRow):
                bad.append(replace(found, row=part.at[sound[begin]]))
            else:
                chunks.append(found)
                good.append((begin, end))
        kept = rows.select(self.kept(rows))
        if sum(end - begin for begin, end in good) < len(sound):
            pieces = [kept.slice(begin, end - begin) for begin, end in good]
            kept = pa.concat_tables([kept.schema.empty_table(), *pieces])
        table = kept
        for index, field in enumerate(self.answers.schema):
            table = table.append_column(field, pa.chunked_array([each[index] for each in chunks], field.type))
        return table, self._named(part, bad)

    def kept(self, rows: pa.Table) -> list[str]:
        """The columns of the source that the target has."""
        return [name for name in rows.column_names if name in self.keep or name == self.id]

    def _named(self, part: Part, bad: Sequence[BadRow]) -> list[BadRow]:
        """Bad rows in their order, with their ids."""
        if self.id is not None and bad:
            column = part.rows[self.id]
            index = {row: position for position, row in enumerate(part.at)}
            bad = [replace(e, id=cell(column, index[e.row])) if e.row in index else e for e in bad]
        return sorted(bad, key=lambda each: -1 if each.row is None else each.row)

    # -- runs --------------------------------------------------------------------------------------------------

    def _ranges(self, values: Values, count: int, watched: _Watched, isolated: bool) -> Iterator[Found]:
        if isolated:
            yield from self._apart(values, 0, count, watched)
            return
        for begin in range(0, count, self.batch):
            yield from self._halved(values, begin, min(begin + self.batch, count), watched)

    def _halved(self, values: Values, begin: int, end: int, watched: _Watched) -> Iterator[Found]:
        """The answers of a range, of its halves where it fails."""
        try:
            answers = self.run(values, begin, end)
        except BatchError:
            raise
        except Exception as error:  # whatever one row does wrong is no reason to end the job
            if end - begin == 1:
                yield begin, end, BadRow(0, _text(error), str(getattr(error, "where", "")))
                return
        else:
            if end - begin > 1:
                watched(begin, end, answers)
            yield begin, end, answers
            return
        middle = (begin + end) // 2
        yield from self._halved(values, begin, middle, watched)
        yield from self._halved(values, middle, end, watched)

    def _apart(self, values: Values, begin: int, end: int, watched: _Watched) -> Iterator[Found]:
        """The answers of a range that another process computes, of its halves where that ends."""
        if begin == end:
            return
        found = outcome(lambda: [r for start in range(begin, end, self.batch) for r in self._halved(
            values, start, min(start + self.batch, end), watched)])  # fmt: skip
        if isinstance(found, list):
            yield from found
        elif end - begin == 1:
            yield begin, end, BadRow(0, f"the process that ran the row ended: {found}")
        else:
            middle = begin + max(1, (end - begin) // self.batch // 2) * self.batch
            middle = middle if middle < end else (begin + end) // 2
            yield from self._apart(values, begin, middle, watched)
            yield from self._apart(values, middle, end, watched)

    def run(self, values: Values, begin: int, end: int) -> list[pa.Array]:
        """The answers of a range, by one run."""
        feed = self.binding.sliced(values, begin, end)
        if self._writes:
            feed = _copied(feed)
        return self.answers.arrays(self.pipeline.run(feed), end - begin)


def _copied(feed: Mapping[str, Any]) -> dict[str, Any]:
    """A feed that a run may write into: a batch that fails is run again."""
    return {name: value.clone() if isinstance(value, torch.Tensor) else value for name, value in feed.items()}


def _text(error: Exception) -> str:
    if isinstance(error, TracepackError):
        return f"{type(error).__name__}: {error}"[:1000]
    return f"{type(error).__name__}: {str(error)[:900]}"
