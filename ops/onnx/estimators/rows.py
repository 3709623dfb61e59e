"""Rows: the example that an estimator is converted with, and other rows like it to try it on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ...graph.errors import ScriptError
from ..ports import TEXT

_SEED = 0
_MANY = 200
_PARTS = (-1.0, 0.0, 0.5, 1.0)
_KINDS = "a matrix of numbers, a table of columns (pandas), or a list of strings"


@dataclass(frozen=True)
class Rows:
    """Rows of an example.

    Attributes:
        data: as the estimator takes them: an array of two dimensions, a table of pandas, or a list of strings.
        columns: the input of the op for each name: an array, or a list of strings.
    """

    data: Any
    columns: Mapping[str, Any]

    def __len__(self) -> int:
        return len(self.data)

    def values(self) -> list[Any]:
        """The inputs of the op: tensors, and lists of strings."""
        return [
            torch.from_numpy(np.array(each, order="C")) if isinstance(each, np.ndarray) else each
            for each in self.columns.values()
        ]

    def dtypes(self) -> dict[str, str]:
        """The dtype of each input; ``"str"`` for strings."""
        return {name: each.dtype.name if isinstance(each, np.ndarray) else TEXT for name, each in self.columns.items()}

    def others(self) -> Iterator[Rows]:
        """Other rows: one alone, columns shuffled one by one, numbers moved, scaled and at their ends; new texts."""
        random = np.random.default_rng(_SEED)
        yield self._taken(lambda values: values[:1])
        yield self._taken(lambda values: [values[i] for i in random.permutation(len(values))])
        yield self._moved(lambda c: c + random.standard_normal(c.shape) * c.std(0))
        yield self._moved(lambda c: 3 * c)
        if isinstance(self.data, list):
            yield rows_of([text.swapcase() for text in self.data])
            yield rows_of([f"{text} \u00c9t\u00c9, {text[::-1]}; don't 3.5" for text in self.data])
        yield self._moved(lambda c: np.where(random.random(c.shape) < 0.5, c.min(0), c.max(0)))

    def many(self, count: int) -> Rows:
        """So many rows of the values of these, the columns chosen at random, one by one."""
        random = np.random.default_rng(_SEED)
        return self._taken(lambda values: [values[i] for i in random.integers(len(values), size=count)])

    def times(self, factor: float) -> Rows:
        """These rows with all numbers so many times as large, and the ones alone with others; ints stay."""
        return self.many(_MANY)._moved(lambda c: c * factor)

    def up_to(self, largest: float) -> Rows:
        """Rows whose floating numbers are parts of a number, of either sign, or of the largest one of their dtype."""
        random = np.random.default_rng(_SEED)

        def far(column: Any) -> Any:
            most = min(largest, float(np.finfo(column.dtype).max))
            return random.choice(_PARTS, column.shape) * most

        return self.many(_MANY)._moved(far)

    def largest(self) -> float:
        """The largest of all floating numbers, without its sign; 0 where there are none."""
        found = [np.abs(c[np.isfinite(c)]).max(initial=0) for c in self.columns.values() if _is_float(c)]
        return float(max(found, default=0))

    def _taken(self, choose: Any) -> Rows:
        """Rows whose columns are chosen anew, each by itself."""
        if isinstance(self.data, list):
            return rows_of(choose(self.data))
        if isinstance(self.data, np.ndarray):
            columns = [np.asarray(choose(column), self.data.dtype) for column in self.data.T]
            return rows_of(np.stack(columns, axis=1))
        chosen = {name: self.data[name].iloc[list(choose(range(len(self))))].array for name in self.data}
        return rows_of(type(self.data)(chosen))

    def _moved(self, move: Any) -> Rows:
        """Rows with other floating numbers, of the same dtype."""
        if isinstance(self.data, np.ndarray) and self.data.dtype.kind == "f":
            return rows_of(move(self.data).astype(self.data.dtype))
        if isinstance(self.data, list | np.ndarray):
            return self
        moved = self.data.copy()
        for name, column in self.data.items():  # whose name may be a number
            if column.dtype.kind == "f":
                moved[name] = move(column.to_numpy()).astype(column.dtype)
        return rows_of(moved)


def _is_float(column: Any) -> bool:
    return isinstance(column, np.ndarray) and column.dtype.kind == "f"


def rows_of(example: Any) -> Rows:
    """The rows of an example.

    Raises:
        ScriptError: it is of no kind that an op can take.
    """
    if isinstance(example, tuple) and len(example) == 1:
        example = example[0]
    if isinstance(example, torch.Tensor):
        example = example.detach().cpu().numpy()
    if hasattr(example, "columns") and hasattr(example, "iloc"):
        return Rows(example, {str(name): _column(str(name), column) for name, column in example.items()})
    if isinstance(example, list) and all(isinstance(item, str) for item in example):
        return Rows(list(example), {"X": list(example)})
    array = np.asarray(example)
    if array.ndim != 2 or array.dtype.kind not in "fiub" or not array.size:
        got = f"{type(example).__name__} of shape {array.shape}, {array.dtype}"
        raise ScriptError("an estimator cannot be converted with this example", got=got, expected=_KINDS)
    return Rows(array, {"X": array})


def _column(name: str, column: Any) -> Any:
    """A column of a table: an array of numbers, or a list of strings."""
    values = column.to_numpy()
    if values.dtype.kind in "fiub":
        return values
    texts = values.tolist()
    if not all(isinstance(text, str) for text in texts):
        raise ScriptError(
            "a column holds neither numbers nor strings alone",
            where=f"column {name!r}",
            got=repr(next(text for text in texts if not isinstance(text, str))),
            fix="Pass rows without missing texts: an op takes strings alone.",
        )
    return texts
