"""The arrays of numpy that a function can reach, each with a copy of what it held."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..places import Location, of_array

MOST_BYTES = 1 << 20  # of one that is looked at
Among = Callable[[Location, Sequence[Any]], list[Any]]
"""Says which keys of a place can have been written."""


class KeptArrays:
    """Arrays of numbers, which have no items that could be told apart by what they are."""

    def __init__(self) -> None:
        self._all: list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], Location]] = []

    def meet(self, array: np.ndarray[Any, Any]) -> None:
        """Takes a copy of one, unless it is large or holds objects."""
        if array.nbytes <= MOST_BYTES and not array.dtype.hasobject:
            before = array.copy()
            self._all.append((array, before, of_array(array, before)))

    def changed(self, among: Among) -> list[tuple[Location, Any]]:
        """Those that were written to, each with the key of all that is in it."""
        return [(place, ...) for array, before, place in self._all if _differ(array, before) and among(place, [...])]

    def restore(self, among: Among) -> None:
        """Gives back to each what it held."""
        for array, before, place in self._all:
            if array.flags.writeable and _differ(array, before) and among(place, [...]):
                array[...] = before


def _differ(array: np.ndarray[Any, Any], before: np.ndarray[Any, Any]) -> bool:
    return array.tobytes() != before.tobytes()
