"""Numbers of numpy, which a call may give for those of Python: they compute in so many bits as they have.

A pipeline takes their values. That is another answer where the function computes with them: ``np.int8(127) + 1`` is
-128, ``np.float32(0.1) * 3`` is rounded to a float32, and ``np.True_ + np.True_`` is true.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from torch.utils import _pytree as pytree

MOST_NAMED = 4
_LARGEST, _UNSIGNED = 127, 255  # of an int8 and a uint8


@dataclass(frozen=True)
class NumpyNumbers:
    """Numbers of one kind of Python's that are handed to the function as those of a class of numpy.

    Attributes:
        base: the class of Python.
        made: the class of numpy.
        dtypes: for which that one stands.
        values: what each number is made of before: as it is, and where such a class ends.
    """

    base: type
    made: Callable[[Any], Any]
    dtypes: tuple[str, ...]
    values: tuple[Callable[[Any], Any], ...] = (lambda value: value,)

    def holds(self, leaf: Any) -> bool:
        """Whether a leaf is such a number, or a list with some."""
        if isinstance(leaf, dict):
            return any(map(self.holds, leaf.values()))
        return type(leaf) is self.base or (isinstance(leaf, list | tuple) and any(map(self.holds, leaf)))

    def beside(self, constants: Sequence[Any]) -> list[Callable[[Any], Any]]:
        """What puts in the place of each number one that code names, rounded: a comparison tells it from that."""
        named = [each for each in constants if type(each) is float] if self.made is np.float32 else []
        return [partial(lambda number, _: number, _in(np.float32, each)) for each in named[:MOST_NAMED]]

    def each(self, leaf: Any, make: Callable[[Any], Any]) -> Any:
        """A leaf with something made of each such number in it."""
        if isinstance(leaf, dict):
            return {key: self.each(item, make) for key, item in leaf.items()}
        if type(leaf) in (list, tuple):
            return type(leaf)(self.each(item, make) for item in leaf)
        return make(leaf) if type(leaf) is self.base else leaf


def _fitting(value: int) -> int:
    return value if 0 <= value <= _LARGEST else abs(value) % (_LARGEST + 1)


def _of_64_bits(value: int) -> int:
    return value if -(2**63) <= value < 2**63 else _fitting(value)


def _in(kind: Callable[[float], Any], value: float) -> float:
    """A float that such a number holds: itself as far as that goes."""
    with np.errstate(all="ignore"):
        found = float(kind(value))
    return found if math.isfinite(found) or not math.isfinite(value) else 1.5


NUMBERS = (
    NumpyNumbers(bool, np.bool_, ("bool",)),
    NumpyNumbers(int, np.int8, ("int8", "int16", "int32"), (_fitting, lambda _: _LARGEST)),
    NumpyNumbers(int, np.uint8, ("uint8", "uint16", "uint32", "uint64"), (_fitting, lambda _: 0, lambda _: _UNSIGNED)),
    NumpyNumbers(int, np.int64, ("int64",), (_of_64_bits,)),
    NumpyNumbers(
        float, np.float16, ("float16", "float32"),
        (partial(_in, np.float16), lambda value: _in(np.float16, value + 0.1)),
    ),
    NumpyNumbers(float, np.float32, ("float32",), (partial(_in, np.float32),)),
    NumpyNumbers(float, np.float64, ("float64",)),
)  # fmt: skip


def given(leaves: Mapping[int, Any], numbers: NumpyNumbers, value: Callable[[Any], Any]) -> dict[int, tuple[Any, Any]]:
    """For some leaves by their places what the pipeline is given, and what the function is."""
    found = {place: numbers.each(leaf, value) for place, leaf in leaves.items() if numbers.holds(leaf)}
    return {place: (leaf, numbers.each(leaf, numbers.made)) for place, leaf in found.items()}


def plain_numbers(result: Any) -> Any:
    """A result with numbers of Python for those of numpy: a function hands them on, and no pipeline does."""
    return pytree.tree_map_only(np.generic, lambda number: number.item(), result)
