"""Finds what an op must refuse, by trying: what its estimator refuses, or its model answers otherwise."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from ...graph.errors import GuardError, ScriptError
from ..session import Session
from ..value_guards import ValueGuard, check_values
from .agreement import Answers, answers, compare, overflows
from .hard_rows import (
    NUMBERS,
    Place,
    beside_numbers,
    number_places,
    text_places,
    tiny,
    with_numbers,
    with_texts,
)
from .rows import Rows

_MOST = 64  # columns that are tried one by one
_POWERS = (1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 18, 20, 24, 30, 36)
_LARGE = (
    3, 6, 9, 12, 15, 17, 18, 19, 22, 25, 29, 33, 36, 37, 38, 50, 75, 100, 125, 150, 153, 154, 200, 250, 304, 307, 308,
)  # fmt: skip
"""Powers of ten up to the largest numbers of a dtype, nearer to each other where squares overflow."""
_SAFELY = 3  # powers of ten below the one at which some of a few rows differ
_MAY_DIFFER = ("nan", "infinite", "beyond float32")  # which a guard may keep from a model that answers otherwise
_AGREES, _DIFFERS, _REFUSED = "agrees", "differs", "refused"
_HOLDING = ("steps", "transformer_list", "transformers", "estimators")


class TriedGuards:
    """The guards of an op.

    Args:
        model: the ONNX model, which answers as the estimator does on ordinary rows.
        estimator: what it was made of.
        rows: the example.
        where: the op, for messages.
    """

    def __init__(self, model: bytes, estimator: Any, rows: Rows, where: str) -> None:
        self._session, self._estimator, self._rows, self._where = Session(model, "cpu", where), estimator, rows, where
        self._name, self._example = type(estimator).__name__, answers(estimator, rows)
        self.found: list[ValueGuard] = []

    def tried(self) -> tuple[ValueGuard, ...]:
        """The guards, once all rows were tried.

        Raises:
            ScriptError: the model answers rows otherwise that no guard keeps from it.
        """
        for kind, values in NUMBERS.items():
            self._try_numbers(kind, values)
        for index in text_places(self._rows):
            for kind in ("not ascii", "blanks", "control"):
                outcome = self._outcome(with_texts(self._rows, index, kind))
                if outcome != _AGREES:
                    self.found.append(ValueGuard(kind, index, None, self._name, outcome == _REFUSED))
        self._try_far()
        self._try_largest()
        self._refuse_guarded_example()
        for other in self._others():
            self._require(other)
        return tuple(self.found)

    def _others(self) -> Iterator[Rows]:
        rows = self._rows
        yield from rows.others()
        yield from tiny(rows)
        yield from beside_numbers(rows, _encodes(self._estimator))
        yield from (with_texts(rows, index, "plain") for index in text_places(rows))

    def _try_numbers(self, kind: str, values: Sequence[float]) -> None:
        places = number_places(self._rows, kind)
        if not places:
            return
        outcome = self._outcome(with_numbers(self._rows, places, values))
        if outcome == _AGREES:
            return
        if outcome == _DIFFERS and kind not in _MAY_DIFFER:
            self._require(with_numbers(self._rows, places, values))
        self._add(kind, self._bad(places, values), outcome == _REFUSED)

    def _try_far(self) -> None:
        """Numbers far beyond the example's: their distances may be those of rounding, for example."""
        usual = self._rows.largest()
        if not usual:
            return
        for power in _POWERS:
            with np.errstate(over="ignore"):
                rows = self._rows.times(10.0**power)
            if not math.isfinite(rows.largest()):
                return
            if (outcome := self._outcome(rows)) != _AGREES:
                limit = max(math.ceil(math.log10(usual)), math.floor(math.log10(usual)) + power - _SAFELY)
                self._add(
                    f"beyond 1e{min(max(limit, 0), 38)}", number_places(self._rows, "infinite"), outcome == _REFUSED
                )
                return

    def _try_largest(self) -> None:
        """Numbers up to the largest of their dtype, whose sums, squares and distances are infinite in one of both."""
        kinds = {np.dtype(kind) for kind in self._rows.dtypes().values() if kind in ("float32", "float64")}
        usual = self._rows.largest()
        if not usual or not kinds:
            return
        top = max(math.floor(math.log10(np.finfo(kind).max)) for kind in kinds)
        least = max(math.ceil(math.log10(usual)), 0)
        powers = [power for power in _LARGE if least < power <= top]
        with np.errstate(all="ignore"):
            tried = {power: self._outcome_far(self._rows.up_to(_number(power, top)), kinds) for power in powers}
        bad = [power for power in powers if tried[power] != _AGREES]
        if bad:
            limit = max((power for power in powers if power < bad[0]), default=least)
            self._add(f"beyond 1e{limit}", number_places(self._rows, "infinite"), tried[bad[0]] == _REFUSED)

    def _outcome_far(self, rows: Rows, kinds: Collection[Any]) -> str:
        """As `_outcome`; scores that are, or nearly are, beyond the numbers of a dtype differ."""
        found = self._outcome(rows)
        if found != _AGREES or self._given(rows) is None:
            return found
        return _DIFFERS if any(overflows(answers(self._estimator, rows), kind) for kind in kinds) else found

    def _bad(self, places: Sequence[Place], values: Sequence[float]) -> Sequence[Place]:
        """The places at which such numbers are refused, or answered otherwise; all, where one cannot tell."""
        if len(places) > _MOST or not any(hasattr(self._estimator, field) for field in _HOLDING):
            return places
        bad = [place for place in places if self._outcome(with_numbers(self._rows, [place], values)) != _AGREES]
        good = [place for place in places if place not in bad]
        if not bad or (good and self._outcome(with_numbers(self._rows, good, values)) != _AGREES):
            return places
        return bad

    def _add(self, kind: str, bad: Sequence[Place], refused: bool) -> None:
        for index, column in enumerate(self._rows.columns.values()):
            held = tuple(place for number, place in bad if number == index and place is not None)
            if not any(number == index for number, _ in bad):
                continue
            whole = not held or len(held) == column.shape[1]
            self.found.append(ValueGuard(kind, index, None if whole else held, self._name, refused))

    def _outcome(self, rows: Rows) -> str:
        """What becomes of rows: both answer alike or the op refuses them, they differ, or the estimator refuses."""
        try:
            wanted = answers(self._estimator, rows)
        except Exception:
            return _AGREES if self._given(rows) is None else _REFUSED
        try:
            self._compare(rows, wanted)
        except ScriptError:
            return _DIFFERS
        return _AGREES

    def _given(self, rows: Rows) -> tuple[Any, ...] | None:
        """What the op gives; None where it refuses the rows."""
        values = rows.values()
        try:
            check_values(self.found, values, list(rows.columns), self._where)
            return self._session(*values)
        except Exception:  # of ONNX Runtime, or a guard
            return None

    def _compare(self, rows: Rows, wanted: Answers) -> None:
        found = self._given(rows)
        if found is not None:
            compare(found, wanted, self._estimator, rows, self._example, self._where)

    def _require(self, rows: Rows) -> None:
        """Checks that the op answers rows as the estimator does, or refuses them.

        Raises:
            ScriptError: it does not.
        """
        try:
            wanted = answers(self._estimator, rows)
        except Exception as error:
            if self._given(rows) is None:
                return
            raise ScriptError(
                f"the {self._name} refuses rows that its ONNX model answers",
                where=self._where,
                got=f"{type(error).__name__}: {str(error).strip().splitlines()[0][:200]}",
                fix="Fit it to integers or texts in place of floating categories, or with handle_unknown='ignore'.",
            ) from error
        self._compare(rows, wanted)

    def _refuse_guarded_example(self) -> None:
        try:
            check_values(self.found, self._rows.values(), list(self._rows.columns), self._where)
        except GuardError as error:
            raise ScriptError(
                f"the ONNX model answers such rows otherwise than the {self._name}: {error.what}",
                where=self._where,
                got=error.got,
                fix="Pass an example without them; the op then refuses them.",
            ) from error


def _number(power: int, top: int) -> float:
    """A power of ten; for the last one the largest number of the dtype."""
    return 10.0**power if power < top else math.inf


def _encodes(estimator: Any) -> bool:
    """Whether a part of an estimator looks numbers up, so that the next one is another category."""
    from .converters import parts

    return any(type(each).__name__.endswith(("Encoder", "Binarizer")) for each in parts(estimator))
