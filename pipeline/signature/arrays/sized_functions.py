"""The functions of numpy whose results have sizes that follow from those of arguments, and are no larger. No torch."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ....ops.runtime.primitives.numpy import METHOD, array_function, ufunc_of

MADE_OF_SIZES = frozenset(f"numpy.{name}" for name in "zeros ones full empty arange linspace eye identity".split())
"""Functions whose numbers are sizes."""

BY_DATA = frozenset(("numpy.unique", "numpy.nonzero", "numpy.flatnonzero", "numpy.argwhere"))
"""Functions whose results have sizes that data decides."""

_REDUCTIONS = (
    "mean sum prod std var min max amin amax median any all argmax argmin cumsum cumprod nansum nanmean nanstd nanvar "
    "nanmin nanmax nanmedian ptp average quantile percentile count_nonzero trace linalg.norm"
)
_FORMS = (
    "stack concatenate vstack hstack column_stack dstack transpose reshape ravel flatten squeeze expand_dims swapaxes "
    "moveaxis atleast_1d atleast_2d flip fliplr flipud roll rot90 diff gradient split zeros_like ones_like "
    "full_like empty_like asarray array copy astype ascontiguousarray asfortranarray"
)
_VALUES = (
    "clip round around where sort argsort nan_to_num isclose real imag tril triu convolve searchsorted digitize interp "
    "histogram dot inner outer matmul cross kron fft.fft fft.ifft fft.rfft"
)
_NAMES = frozenset(
    f"{kind}{name}" for kind in ("numpy.", METHOD) for name in f"{_REDUCTIONS} {_FORMS} {_VALUES}".split()
)
_OF_NUMBERS = "add sub mul floordiv mod neg"
_OF_ARRAYS = "truediv pow matmul pos abs invert and_ or_ xor lt le gt ge eq ne iadd isub imul itruediv"
_OPERATORS = frozenset(f"py.{name}" for name in f"{_OF_NUMBERS} {_OF_ARRAYS}".split())
_JOINING = frozenset(f"numpy.{name}" for name in "stack concatenate vstack hstack column_stack dstack".split())
_MOST = 1_000_000


def function_of(name: str) -> Callable[..., Any] | None:
    """The function of a node, where the sizes of its result follow from those of its arguments; None for others."""
    if name in _OPERATORS:
        return getattr(operator, name.removeprefix("py."), None)
    if name in ("py.getitem", "py.array_size"):
        return operator.getitem if name == "py.getitem" else lambda array, axis: array.shape[axis]
    known = name in _NAMES or name in MADE_OF_SIZES or name in BY_DATA
    try:
        return array_function(name) if known else ufunc_of(name) if name.startswith("numpy.") else None
    except (AttributeError, ImportError):  # another release of numpy
        return None


def is_place_by_place(name: str) -> bool:
    """Whether numbers among the arguments decide no size, since each place of the result is of places of arrays."""
    return name in _OPERATORS or (name.startswith("numpy.") and ufunc_of(name) is not None)


def is_small(name: str, given: list[Any]) -> bool:
    """Whether what a function makes of arguments is small: a file comes from strangers, who may want it large.

    Args:
        name: of the function.
        given: the arrays and numbers among its arguments.
    """
    arrays = [max(1, each.size) for each in given if isinstance(each, np.ndarray)]
    numbers = [max(1.0, abs(float(each))) for each in given if isinstance(each, int | float | np.number)]
    if name.startswith("py.") and not arrays:
        return name.removeprefix("py.") in _OF_NUMBERS.split() and max(numbers, default=1) <= _MOST
    if name in _JOINING:
        return sum(arrays) <= _MOST
    lengthens = name in MADE_OF_SIZES or name.startswith("numpy.fft.")
    return math.prod(arrays) * (math.prod(numbers) if lengthens else 1 + len(given)) <= _MOST
