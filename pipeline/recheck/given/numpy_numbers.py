"""Numbers of numpy, which a call may give for those of Python: they compute in so many bits as they have.

A pipeline takes their values. That is another answer where the function computes with them: ``np.int8(127) + 1`` is
-128, ``np.float32(0.1) * 3`` is rounded to a float32, and ``np.True_ + np.True_`` is true.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any

import numpy as np
from torch.utils import _pytree as pytree

_LARGEST = 127  # that an int8 and a uint8 hold
NARROW = ("int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64")
"""Ints with which sums and products end earlier than those of Python."""


@dataclass(frozen=True)
class NumpyNumbers:
    """Numbers of one kind of Python's that are handed to the function as those of a class of numpy.

    Attributes:
        base: the class of Python.
        made: the class of numpy.
        dtypes: for which that one stands.
        values: what each number is made of before.
        fits: whether such a number can be one of numpy.
    """

    base: type
    made: Callable[[Any], Any]
    dtypes: tuple[str, ...]
    values: tuple[Callable[[Any], Any], ...] = (lambda value: value,)
    fits: Callable[[Any], bool] = lambda value: True

    def holds(self, leaf: Any) -> bool:
        """Whether a leaf is such a number, or a list with some."""
        if isinstance(leaf, dict):
            return any(map(self.holds, leaf.values()))
        if isinstance(leaf, list | tuple):
            return any(map(self.holds, leaf))
        return type(leaf) is self.base and self.fits(leaf)

    def each(self, leaf: Any, make: Callable[[Any], Any]) -> Any:
        """A leaf with something made of each such number in it."""
        if isinstance(leaf, dict):
            return {key: self.each(item, make) for key, item in leaf.items()}
        if type(leaf) in (list, tuple):
            return type(leaf)(self.each(item, make) for item in leaf)
        return make(leaf) if self.holds(leaf) else leaf


def _in(kind: Callable[[float], Any], value: float) -> float:
    """A float that such a number holds: itself as far as that goes."""
    with np.errstate(all="ignore"):
        found = float(kind(value))
    return found if math.isfinite(found) or not math.isfinite(value) else 1.5


def _is_small(value: int) -> bool:
    return 0 <= value <= _LARGEST


def _is_of_64_bits(value: int) -> bool:
    return -(2**63) <= value < 2**63


# No number is made much larger or smaller: a function may go through as many rounds.
NUMBERS = (
    NumpyNumbers(bool, np.bool_, ("bool",)),
    NumpyNumbers(int, np.int8, ("int8", "int16", "int32"), fits=_is_small),
    NumpyNumbers(int, np.uint8, ("uint8", "uint16", "uint32", "uint64"), fits=_is_small),
    NumpyNumbers(int, np.int64, ("int64",), fits=_is_of_64_bits),
    NumpyNumbers(
        float, np.float16, ("float16", "float32"),
        (partial(_in, np.float16), lambda value: _in(np.float16, value * 0.97)),
    ),
    NumpyNumbers(float, np.float32, ("float32",), (partial(_in, np.float32),)),
    NumpyNumbers(float, np.float64, ("float64",)),
)  # fmt: skip


INTS = NumpyNumbers(int, int, NARROW)


class ComputedInt(int):
    """An int that hears whether something is computed of it and another int, which ends early in few bits."""

    heard: list[bool]

    @classmethod
    def of(cls, value: int, heard: list[bool]) -> ComputedInt:
        """The int, which writes to a list what it hears."""
        made = cls(value)
        made.heard = heard
        return made


def _hearing(name: str) -> Callable[..., Any]:
    plain = getattr(int, name)

    @wraps(plain)
    def compute(self: ComputedInt, *others: Any) -> Any:
        if all(isinstance(each, int) for each in others):
            self.heard.append(True)
        return plain(int(self), *(int(each) if isinstance(each, ComputedInt) else each for each in others))

    return compute


_OF_TWO = ("add", "sub", "mul", "floordiv", "mod", "pow", "lshift", "divmod")
for _name in ("neg", *_OF_TWO, *(f"r{each}" for each in _OF_TWO)):
    setattr(ComputedInt, f"__{_name}__", _hearing(f"__{_name}__"))


def given(leaves: Mapping[int, Any], numbers: NumpyNumbers, value: Callable[[Any], Any]) -> dict[int, tuple[Any, Any]]:
    """For some leaves by their places what the pipeline is given, and what the function is."""
    found = {place: numbers.each(leaf, value) for place, leaf in leaves.items() if numbers.holds(leaf)}
    return {place: (leaf, numbers.each(leaf, numbers.made)) for place, leaf in found.items()}


def plain_numbers(result: Any) -> Any:
    """A result with numbers of Python for those of numpy: a function hands them on, and no pipeline does."""
    return pytree.tree_map_only(np.generic, lambda number: number.item(), result)
