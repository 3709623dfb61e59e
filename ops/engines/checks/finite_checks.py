"""NaN and infinity, of which other runtimes make what torch does not.

In torch a NaN is the answer of `relu`, `clamp`, `max` and a softmax, and no comparison but `!=` holds for it. Other
runtimes take the bound, the next number or the first index, so a network gives a plausible answer for data with a
missing value. An input that holds one is left to the flat function, and so is a call in which a function makes one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from math import isfinite
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from ...graph.graph import Graph
from ...graph.traverse import constants
from ...graph.types import TensorType
from .left_to_torch import LeftToTorch
from .number_checks import keeps_range

vdot = getattr(np.vdot, "_implementation", np.vdot)  # without the question whose arrays these are
_DIVIDING = ("div", "divide", "true_divide", "truediv", "rtruediv", "rdiv", "reciprocal", "rsqrt", "addcdiv", "sinc")
_OF_RECIPROCALS = ("rdiv", "rtruediv")  # which torch takes for products with a reciprocal, which overflows by itself
_LOGARITHMS = ("log", "log2", "log10", "log1p", "xlogy", "logit")  # of what a runtime takes for 0 they are infinite
_LIMITED = (
    *_LOGARITHMS, "sqrt", "acos", "arccos", "asin", "arcsin", "acosh", "arccosh",
    "atanh", "arctanh", "remainder", "fmod", "mod", "rmod",
)  # fmt: skip
_DEVIATIONS = ("std", "var", "std_mean", "var_mean")  # torch sums squares in float64
_EXPONENTIAL = ("exp", "exp2")
_POWERS = ("pow", "rpow", "float_power", "ipow")
_NORMALISING = ("softmax", "log_softmax", "softmin")
_MISTAKEN = (
    "max", "amax", "min", "amin", "aminmax", "logsumexp", "max_pool1d", "max_pool2d", "max_pool3d",
    "max_pool1d_with_indices", "max_pool2d_with_indices", "max_pool3d_with_indices", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "adaptive_max_pool3d", "diag", "diagonal", "trace",
)  # fmt: skip
"""Of infinities some begin at the largest number, and some choose by a product with zero."""


def floating_inputs(graph: Graph) -> list[int]:
    """The numbers of the inputs that may hold a NaN."""
    kinds = [value.type for value in graph.inputs]
    return [
        index for index, kind in enumerate(kinds)
        if isinstance(kind, TensorType) and getattr(torch, kind.dtype).is_floating_point
    ]  # fmt: skip


def holds_infinity(graph: Graph) -> bool:
    """Whether a constant of a region does, as a mask that is added to scores."""
    tensors = [constant.tensor for constant in constants(graph)]
    return any(bool(each.isinf().any()) for each in tensors if each.is_floating_point())


def require_finite(value: torch.Tensor) -> None:
    """Checks an input.

    Raises:
        LeftToTorch: it holds a NaN or an infinity.
    """
    if not bool(value.isfinite().all()):
        raise LeftToTorch(_SAID)


def require_finite_array(array: Any) -> None:
    """Checks an input as numpy sees it.

    Raises:
        LeftToTorch: it holds a NaN, an infinity, or numbers whose squares a runtime may find infinite.
    """
    # The sum of squares is the cheapest pass over memory that keeps all three.
    if not isfinite(vdot(array, array)) and not (array.itemsize == _HALF and np.isfinite(array).all()):
        raise LeftToTorch(f"{_SAID}, or numbers whose squares overflow")


_SAID = "an input holds a NaN or an infinity"
_HALF = 2  # bytes of float16, which holds no square of 256


class FiniteChecks:
    """Finds, while a region runs to be exported, which functions may make a NaN of numbers.

    Args:
        infinite: whether an infinity may be there, of which a normalisation may make one.
    """

    def __init__(self, infinite: bool) -> None:
        self.infinite = infinite

    def of(self, name: str, args: Sequence[Any], given: Any, found: Any) -> Iterator[torch.Tensor]:
        """Whether what a function made is no NaN, as tensors."""
        values = (*args, *given.values())
        self.infinite |= any(type(value) is float and math.isinf(value) for value in values)
        self.infinite |= name in (*_LOGARITHMS, "atanh", "arctanh") or _is_power(name, args, given)
        check = self._check(name, args, given)
        for made in found if isinstance(found, tuple) else (found,):
            if not (isinstance(made, torch.Tensor) and made.is_floating_point()):
                continue
            if check is not None:
                yield check(made)
            if made.dtype == torch.float16 and not keeps_range(name):
                yield _fits_half(made)
                if name in _OF_RECIPROCALS:
                    yield _fits_half(args[0].reciprocal())

    def _check(self, name: str, args: Sequence[Any], given: Any) -> Callable[[torch.Tensor], torch.Tensor] | None:
        """What says whether a function made no NaN; None where it makes none."""
        divides = name in _DIVIDING and not _divides_by_number(name, args, given)
        mistaken = self.infinite and name.removeprefix("special_") in _MISTAKEN
        if divides or mistaken or name.removeprefix("special_") in (*_EXPONENTIAL, *_LOGARITHMS, *_DEVIATIONS):
            return _are_finite
        normalises = self.infinite and name in _NORMALISING
        return _are_numbers if _is_power(name, args, given) or name in _LIMITED or normalises else None


class NanChecks(TorchFunctionMode):
    """Finds, while a region runs to be exported, whether it makes a NaN, and nothing else.

    Args:
        infinite: whether the region holds an infinity.

    Attributes:
        within: for each function that may make one whether it did not, as tensors.
    """

    def __init__(self, infinite: bool) -> None:
        super().__init__()
        self.within: list[torch.Tensor] = []
        self.finite = FiniteChecks(infinite)

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        """Runs a function, and checks what it made."""
        given = kwargs or {}
        found = func(*args, **given)
        self.within += self.finite.of(plain_name(func), args, given, found)
        return found

    def all_hold(self) -> torch.Tensor | None:
        """Whether no function made one; None where none may."""
        return reduce(torch.logical_and, self.within) if self.within else None


def plain_name(func: Any) -> str:
    """The name of a function, without its overload, `_` for in place, and what makes it a method."""
    name = str(getattr(func, "__name__", "")).split(".")[0]
    return name.strip("_")


def _are_finite(value: torch.Tensor) -> torch.Tensor:
    """Whether all numbers are finite, in few operators: sums beyond the largest number only cost a run of the nodes.

    The largest number itself stands for an infinity where a runtime begins the search for a maximum at it.
    """
    wide = value.dtype in (torch.float32, torch.float64)
    return value.abs().sum() < torch.finfo(value.dtype).max if wide else value.isfinite().all()


def _fits_half(value: torch.Tensor) -> torch.Tensor:
    """Whether float16 holds all numbers: compilers compute in float32, and round at the end only."""
    return (value.float().abs() < _BEYOND_HALF).all()


_BEYOND_HALF = 65520.0  # the least number that float16 rounds to infinity


def _are_numbers(value: torch.Tensor) -> torch.Tensor:
    return value.isnan().any().logical_not()


def _divides_by_number(name: str, args: Sequence[Any], given: Any) -> bool:
    """Whether the divisor is a number other than zero."""
    divisor = args[1] if len(args) > 1 else given.get("other")
    return name in ("div", "divide", "true_divide", "truediv") and type(divisor) in (int, float) and divisor != 0


def _is_power(name: str, args: Sequence[Any], given: Any) -> bool:
    """Whether a function raises numbers to an exponent that is not positive and whole."""
    values = (*args, *given.values())[1:]
    whole = any(type(value) in (int, float) and value >= 0 and float(value).is_integer() for value in values)
    return name in _POWERS and not whole
