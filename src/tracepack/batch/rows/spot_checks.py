"""Checks while a job runs: one row of a run is run alone, too, and must give what it gave beside the others.

The checks before a job see rows from the beginning of the source, and rows that are made. What ties rows together may
stand anywhere in it. A row that is checked may agree where another one would not, so these checks find what changes
many rows, and what changes few by chance only.
"""

from __future__ import annotations

import random
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ...ops.graph.errors import BatchError
from .columns import Values
from .compute import Work
from .row_difference import dependence, differing, is_narrow, shown, usual_sizes
from .strange_company import picked

_FIRST = 4  # runs that are checked, however long that takes
_SHARE = 1 / 20  # of the time of the job that checks may take
_OTHERS = 32  # rows of a run that are run alone, too, where one differs as rounding may
_SAMPLE = 9  # rows of a run that show how large its numbers usually are
_BEGIN_ANEW = (
    "Other answers in the target may be wrong, too. Delete it, or name another one, and run each row alone: "
    "batch_size=1."
)


@dataclass(frozen=True)
class _Run:
    """A run of several rows: their values, their answers, their file, and the number in it of each."""

    values: Values
    count: int
    answers: list[Any]
    file: str
    number: Callable[[int], int]

    def named(self, place: int) -> str:
        return f"row {self.number(place)} of {self.file!r}"


class SpotChecks:
    """Which runs of a job are checked, and by which row.

    Args:
        work: how rows are run.

    Attributes:
        file: whose rows are run.
    """

    def __init__(self, work: Work) -> None:
        self._work, self.file = work, ""
        self._places = random.Random(0)
        self._begun, self._spent, self._last, self._checked = 0.0, 0.0, 0.0, 0
        self._unchecked: _Run | None = None
        self._warned = False

    @cached_property
    def _narrow(self) -> bool:
        return is_narrow(self._work.graph)

    def after(self, values: Values, begin: int, end: int, answers: list[Any], number: Callable[[int], int]) -> None:
        """Checks a run of several rows, if there is time for it.

        Args:
            values: of a part.
            begin: the first row of the run.
            end: the one after the last.
            answers: what it gave.
            number: of each row of the part in its file.

        Raises:
            BatchError: a row gives something else alone.
        """
        now = time.perf_counter()
        self._begun = self._begun or now
        rows = [(name, value[begin:end]) for name, value in values]
        run = _Run(rows, end - begin, answers, self.file, lambda place: number(begin + place))
        place = self._places.randrange(run.count)
        if self._checked >= _FIRST and self._spent + self._last > (now - self._begun) * _SHARE:
            self._unchecked = run
            return
        self._unchecked = None
        self._check(run, place)
        self._checked += 1
        self._last = time.perf_counter() - now
        self._spent += self._last

    def end_part(self) -> None:
        """Lets go of the part, but for its last run, which is copied until it is checked or another one follows."""
        if (run := self._unchecked) is not None:
            self._unchecked = replace(run, values=picked(run.values, range(run.count)))

    def end(self) -> None:
        """Checks the last run of the job, if that was not done.

        Raises:
            BatchError: a row gives something else alone.
        """
        run, self._unchecked = self._unchecked, None
        if run is not None:
            self._check(run, self._places.randrange(run.count))

    def _check(self, run: _Run, place: int) -> None:
        sample = {round(step * (run.count - 1) / (_SAMPLE - 1)) for step in range(_SAMPLE)}
        sizes = usual_sizes([_row(run.answers, row) for row in sample])
        found = _row(run.answers, place)
        try:
            alone = self._work.run(run.values, place, place + 1)
        except BatchError:
            raise
        except Exception as error:
            got = f"{shown(found[0])} beside others"
            said = f"{type(error).__name__}: {str(error)[:300]}"
            raise dependence(run.named(place), got, said, _BEGIN_ANEW) from error
        column = differing(found, alone, sizes, self._narrow)
        if column is None:
            return
        where = f"{run.named(place)}, output {self._work.answers.schema.names[column]!r}"
        if not self._is_rounding(run, place, sizes):
            raise dependence(where, f"{shown(found[column])} beside others", shown(alone[column]), _BEGIN_ANEW)
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"{where}: {shown(found[column])} in a run of {run.count} rows and {shown(alone[column])} alone; so it "
                "is in a run of copies of the row, by rounding that changes with the number of rows",
                stacklevel=2,
            )

    def _is_rounding(self, run: _Run, place: int, sizes: list[float]) -> bool:
        """Whether a row differs as rounding may: also among as many copies of itself, and the others do not differ.

        That a row changes with the number of rows alone was ruled out before the job.
        """
        found = _row(run.answers, place)
        try:
            copies = self._work.run(picked(run.values, [place] * run.count), 0, run.count)
            if differing(found, _row(copies, place), sizes, self._narrow) is not None:
                return False
            step = max(1, run.count // _OTHERS)
            return all(
                differing(_row(run.answers, row), self._work.run(run.values, row, row + 1), sizes, self._narrow) is None
                for row in range(run.count)[::step]
                if row != place
            )
        except Exception:  # it cannot be shown
            return False


def _row(answers: list[Any], row: int) -> list[Any]:
    return [each[row : row + 1] for each in answers]
