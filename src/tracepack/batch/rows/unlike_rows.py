"""Rows of a table that are as unlike each other as can be found: those that show whether rows depend on each other.

Rows from the beginning of a source are often alike, of one length for example, and then a maximum over all of them
says the same as one over each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from typing import Any

import numpy as np
import torch

Values = list[tuple[str, Any]]  # of each input: a tensor or a list with an item for each row
_ORDINARY = 4  # of sixteen rows, those that stand at equal distances


def unlike_rows(values: Values, count: int, most: int) -> list[int]:
    """Rows by their index, the most unlike first, each once.

    Args:
        values: of all inputs.
        count: how many rows there are.
        most: rows that are wanted.
    """
    if count <= most:
        return list(range(count))
    spread = [round(step * (count - 1) / (most - 1)) for step in range(most)]
    with np.errstate(all="ignore"):
        extremes = zip_longest(*(_extremes(value) for _, value in values))
        found = dict.fromkeys(row for row in chain(*extremes) if row is not None)
    few = list(found)[: most - most * _ORDINARY // 16]
    return list(dict.fromkeys([*few, *spread]))[:most]


def _extremes(value: Any) -> Iterator[int]:
    """The rows of one input in which something is least or most, or as in the row before."""
    if isinstance(value, torch.Tensor):
        yield from _of_numbers(_as_rows(value))
        return
    sizes = np.array([_size(item) for item in value], np.float64)
    yield from (int(sizes.argmax()), int(sizes.argmin()))
    yield from _equal_neighbours([repr(item) for item in value])
    if any(isinstance(item, str) for item in value):
        words = np.array([len(str(item).split()) for item in value])
        yield from (int(words.argmax()), int(words.argmin()))


def _of_numbers(rows: torch.Tensor) -> Iterator[int]:
    """Of rows of numbers: the greatest, the least, one that is not finite, the smallest, and two equal neighbours."""
    high, low = (each.to(torch.float64).numpy() for each in (rows.amax(1), rows.amin(1)))  # NaN where a row has one
    finite = np.isfinite(high) & np.isfinite(low)
    most, least = np.where(finite, high, 0), np.where(finite, low, 0)
    size = np.maximum(np.abs(most), np.abs(least))
    yield from (int(most.argmax()), int(least.argmin()))
    if not finite.all():
        yield int((~finite).argmax())
    yield from (int(np.where(finite, size, np.inf).argmin()), int(size.argmax()))
    same = (rows[1:] == rows[:-1]).all(1).numpy()
    if same.any():
        yield from (int(same.argmax()), int(same.argmax()) + 1)


def _equal_neighbours(keys: Sequence[str]) -> Iterator[int]:
    same = next((row for row in range(1, len(keys)) if keys[row] == keys[row - 1]), None)
    if same is not None:
        yield from (same - 1, same)


def _as_rows(value: torch.Tensor) -> torch.Tensor:
    """A row of numbers for each row; of a row without numbers one 0."""
    flat = value.detach().reshape(len(value), -1)
    flat = flat if flat.shape[1] else torch.zeros(len(value), 1)
    return flat.abs() if flat.is_complex() else flat.byte() if flat.dtype == torch.bool else flat


def _size(item: Any) -> float:
    """A number itself, or how long anything else is when it is written."""
    if isinstance(item, int | float):
        return float(min(max(item, -1e300), 1e300)) if item == item else 0.0
    return float(len(item) if isinstance(item, str) else len(repr(item)))
