"""Rows that are run alone and beside others before a job starts: each must give the same.

No few rows show all: what ties rows together may be a number that one in a million has. So the rows are as unlike as
can be found, stand beside rows that the source need not have, and the job goes on checking, see `spot_checks`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from ...ops.graph.errors import BatchError
from ...ops.runtime.interrupts.unheard import Unheard
from ...pipeline.signature.rows.whole_choices import choice_for_all
from .batch_size import sound_values
from .columns import Values
from .compute import Work
from .row_difference import ALONE, DEPENDS, dependence, differing, is_narrow, shown, usual_sizes
from .strange_company import companies, joined, large_rows, picked
from .unlike_rows import unlike_rows

_TRIED = 16  # rows that are run alone and together
_LEAST = 4  # of them, however long they take
_LOOKED = 64  # rows at the beginning that take the place of those that fail
_SECONDS = 20.0  # after which no other company is tried
_STRANGE = 4  # rows that stand beside rows that the source need not have
_FAILING = 4  # rows that fail alone, and must not run beside others

Answers = list[Any]  # an array for each column


def check_alone(work: Work, first: pa.Table, batch: int) -> None:
    """Checks that rows together give what each gives alone, but for rounding.

    Args:
        work: how they are run.
        first: rows from the beginning; the most unlike of them that are no bad rows are tried.
        batch: rows of a run of the job.

    Raises:
        BatchError: they do not, or a choice is made for all rows at once, which no few rows show.
    """
    if choice := choice_for_all(work.graph):
        raise BatchError(DEPENDS, where=f"pipeline {work.pipeline.name!r}", got=choice, fix=ALONE)
    values, count = sound_values(work, first)
    rows = LoneRows(work, values, count)
    if rows.alone:
        rows.check_beside_each_other(batch)
        with Unheard("the engine .* does not answer on "):  # of NaN and infinity, which nobody sent
            rows.check_in_strange_company()


class LoneRows:
    """Some rows of a table with what each gives alone.

    Args:
        work: how they are run.
        values: of all rows.
        count: how many those are.
    """

    def __init__(self, work: Work, values: Values, count: int) -> None:
        self._work, self._values, self._narrow = work, values, is_narrow(work.graph)
        self._end = time.monotonic() + _SECONDS
        self.alone: dict[int, Answers] = {}
        self._failing: dict[int, Exception] = {}
        for row in dict.fromkeys([*unlike_rows(values, count, _TRIED), *range(min(count, _LOOKED))]):
            if len(self.alone) == _TRIED or (len(self.alone) >= _LEAST and self._is_late()):
                break
            self._run_alone(row)
        self._sizes = usual_sizes(list(self.alone.values())) if self.alone else []

    def _is_late(self) -> bool:
        return time.monotonic() > self._end

    def _run_alone(self, row: int) -> None:
        try:
            self.alone[row] = self._work.run(self._values, row, row + 1)
        except BatchError:
            raise
        except Exception as error:  # a bad row; the job will say which
            self._failing[row] = error

    def check_beside_each_other(self, batch: int) -> None:
        """Checks the rows together, in several orders, and repeated to as many as a run of the job takes.

        Raises:
            BatchError: a row gives something else than alone.
        """
        rows = list(self.alone)
        for order in self._orders(rows, batch):
            last = (len(order) - len(rows)) // len(rows) * len(rows)
            places = {*range(min(len(rows), len(order))), *range(max(last, 0), len(order))}
            self._check(picked(self._values, order), {place: order[place] for place in sorted(places)})
        for row, error in list(self._failing.items())[:_FAILING]:
            self._check_failing(row, rows[0], error)

    def _orders(self, rows: list[int], batch: int) -> Iterator[list[int]]:
        yield list(rows)
        if batch > len(rows):
            yield [rows[place % len(rows)] for place in range(batch)]
        yield list(reversed(rows))
        yield [row for row in rows for _ in range(2)]
        for index, row in enumerate(rows):
            for others in (rows[index + 1 :] + rows[:index], rows[: len(rows) // 2], [rows[index - 1]]):
                if self._is_late():
                    return
                yield [row, *others, row]

    def _check_failing(self, row: int, other: int, error: Exception) -> None:
        try:
            found = self._work.run(picked(self._values, [other, row]), 0, 2)
        except Exception:
            return
        column = self._work.answers.schema.names[0]
        raise dependence(
            f"output {column!r}", f"{shown(found[0][1:])} for a row beside another", f"{type(error).__name__}: {error}"
        )

    def check_in_strange_company(self) -> None:
        """Checks some rows beside rows that the source need not have, and large rows beside others.

        Raises:
            BatchError: a row gives something else than alone.
        """
        rows = [*self.alone][:_STRANGE]
        others = picked(self._values, [*self.alone])
        count = len(self.alone)
        for said, company in companies(self._work.pipeline, others):
            for row in rows:
                if self._is_late():
                    return
                mine = picked(self._values, [row])
                with _none_of_the_source():  # alone at one end: a function may look at the first row, or at the last
                    self._check(joined(mine, company), {0: row}, f" beside {said}")
                    self._check(joined(company, mine), {count: row}, f" beside {said}")
        for company in large_rows(self._work.pipeline, others):
            for place in {0, count // 2, count - 1}:
                if self._is_late():
                    return
                with _none_of_the_source():
                    self._check_large(picked(company, [place]), (others, company), count)

    def _check(self, values: Values, mine: dict[int, int], company: str = "") -> None:
        """Runs rows together, and compares those at some places with what they gave alone."""
        count = len(values[0][1])
        try:
            together = self._work.run(values, 0, count)
        except BatchError:
            raise
        except Exception:  # rows that fail together are run alone by the job
            return
        for place, row in mine.items():
            said = f"row {place + 1} of {count}{company}"
            self._compare([each[place : place + 1] for each in together], self.alone[row], said)

    def _check_large(self, mine: Values, companies: Sequence[Values], count: int) -> None:
        """Compares a large row beside others with as many copies of it: rounding alone would part it from one."""
        copies = self._work.run(picked(mine, [0] * (count + 1)), 0, count + 1)
        for company in companies:
            above = self._work.run(joined(mine, company), 0, count + 1)
            below = self._work.run(joined(company, mine), 0, count + 1)
            for found, place in ((above, 0), (below, count)):
                got, wanted = ([each[place : place + 1] for each in answers] for answers in (found, copies))
                self._compare(got, wanted, f"row {place + 1} of {count + 1}, whose numbers are large")

    def _compare(self, found: Answers, wanted: Answers, said: str) -> None:
        column = differing(found, wanted, self._sizes, self._narrow)
        if column is not None:
            name = self._work.answers.schema.names[column]
            raise dependence(f"output {name!r}", f"{shown(found[column])} for {said}", shown(wanted[column]))


@contextlib.contextmanager
def _none_of_the_source() -> Iterator[None]:
    """A context in which rows that are made may fail, or be left out of an output: only a difference counts."""
    try:
        yield
    except BatchError as error:
        if error.what == DEPENDS:
            raise
    except Exception:
        return
