"""ValueGuard: values that an op made of an estimator refuses, because the estimator does, or answers them otherwise."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from ..graph.errors import GraphError, GuardError
from .ports import TEXT, Port

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_BLANKS = re.compile(r"\s\s")


def _beyond(numbers: torch.Tensor, limit: float) -> torch.Tensor:
    return numbers.abs() > limit


_OF_NUMBERS: Mapping[str, tuple[str, Callable[[torch.Tensor], torch.Tensor]]] = {
    "nan": ("NaN", torch.isnan),
    "infinite": ("infinity", torch.isinf),
    "beyond float32": (
        "a number beyond float32",
        lambda x: x.isfinite() & (x.abs() > torch.finfo(torch.float32).max),
    ),
    "negative": ("a negative number", lambda x: x < 0),
    "zero": ("zero", lambda x: x == 0),
    **{
        f"beyond 1e{power}": (f"a number beyond 1e{power}", partial(_beyond, limit=10.0**power)) for power in range(309)
    },
}
_OF_TEXTS: Mapping[str, tuple[str, Callable[[str], bool]]] = {
    "not ascii": ("a text that is not ASCII", lambda text: not text.isascii()),
    "blanks": ("two blanks in a row", lambda text: _BLANKS.search(text) is not None),
    "control": ("a control character", lambda text: _CONTROL.search(text) is not None),
}
_NOT_FINITE = ("nan", "infinite")


@dataclass(frozen=True)
class ValueGuard:
    """Values that an input must not hold.

    Attributes:
        kind: which: ``"nan"``, ``"infinite"``, ``"not ascii"`` …
        index: the number of the input.
        columns: those of a matrix that must not hold them; None: all.
        estimator: the name of its class.
        refused: whether the estimator refuses them; else it answers, and the model answers otherwise.
    """

    kind: str
    index: int
    columns: tuple[int, ...] | None
    estimator: str
    refused: bool

    def described(self) -> list[Any]:
        """What an archive keeps of it."""
        columns = None if self.columns is None else list(self.columns)
        return [self.kind, self.index, columns, self.estimator, self.refused]

    def check(self, value: Any, where: str) -> None:
        """Checks an input.

        Raises:
            GuardError: it holds such a value.
        """
        row = self._row(value)
        if row is None:
            return
        says = (_OF_NUMBERS.get(self.kind) or _OF_TEXTS[self.kind])[0]
        why = "refuses" if self.refused else "answers otherwise than its ONNX model"
        got = repr(value[row].tolist() if isinstance(value, torch.Tensor) else value[row])[:200]
        raise GuardError(f"row {row} holds {says}, which the {self.estimator} {why}", where=where, got=got)

    def _row(self, value: Any) -> int | None:
        """The first row that holds such a value."""
        if self.kind in _OF_TEXTS:
            found = _OF_TEXTS[self.kind][1]
            return next((row for row, text in enumerate(value) if found(text)), None)
        chosen = value if self.columns is None else value[:, list(self.columns)]
        wrong = _OF_NUMBERS[self.kind][1](chosen)
        if not bool(wrong.any()):
            return None
        return int(wrong.reshape(len(wrong), -1).any(1).nonzero()[0])


def read_guards(described: Any, where: str) -> tuple[ValueGuard, ...]:
    """The guards that an archive keeps.

    Raises:
        GraphError: they are none.
    """
    if not isinstance(described, list) or not all(_is_guard(each) for each in described):
        raise GraphError("the guards of an ONNX op are none", where=where, got=repr(described)[:200])
    return tuple(
        ValueGuard(kind, index, None if columns is None else tuple(columns), estimator, refused)
        for kind, index, columns, estimator, refused in described
    )


def _is_guard(each: Any) -> bool:
    if not isinstance(each, list) or [type(part) for part in (*each[:2], *each[3:])] != [str, int, str, bool]:
        return False
    columns = each[2]
    known = each[0] in _OF_NUMBERS or each[0] in _OF_TEXTS
    return known and each[1] >= 0 and (columns is None or _are_places(columns))


def _are_places(columns: Any) -> bool:
    return isinstance(columns, list) and all(type(each) is int and each >= 0 for each in columns)


def require_fitting(guards: Sequence[ValueGuard], inputs: Sequence[Port], where: str) -> None:
    """Checks that guards are of the inputs of a model.

    Raises:
        GraphError: one is of another.
    """
    for guard in guards:
        port = inputs[guard.index] if guard.index < len(inputs) else None
        shape = port.shape or () if port is not None else ()
        width = shape[1] if len(shape) == 2 and isinstance(shape[1], int) else 0
        fits = port is not None and (port.dtype == TEXT) == (guard.kind in _OF_TEXTS)
        if not fits or any(column >= width for column in guard.columns or ()):
            raise GraphError("a guard is of another input than the model has", where=where, got=guard.described())


def check_values(guards: Sequence[ValueGuard], values: Sequence[Any], names: Sequence[str], where: str) -> None:
    """Checks the inputs of an op.

    Raises:
        GuardError: one holds what the estimator refuses.
    """
    finite: dict[int, bool] = {}
    for guard in guards:
        if guard.kind in _NOT_FINITE:  # the sum is the cheapest pass, which nearly all inputs pass
            if guard.index not in finite:
                finite[guard.index] = math.isfinite(values[guard.index].sum())
            if finite[guard.index]:
                continue
        guard.check(values[guard.index], f"{where}, input {names[guard.index]!r}")
