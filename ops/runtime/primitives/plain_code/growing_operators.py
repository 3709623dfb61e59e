"""Operators of a block of plain Python whose results may grow: small numbers and short texts go first."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from .. import bounded
from . import block_texts
from .arrays.block_arrays import of_numbers
from .gone_through import require_few
from .one_run.block_refusals import within

_SMALL = 1 << 62
_NUMBERS = frozenset((int, float, bool, complex))


def add(a: Any, b: Any) -> Any:
    """``a + b``."""
    kind = type(a)
    if kind in _NUMBERS:
        return a + b
    if kind is str and type(b) is str and len(a) + len(b) <= bounded.MOST_ITEMS:
        return a + b
    return _of_any("add", a, b)


def mul(a: Any, b: Any) -> Any:
    """``a * b``."""
    kinds = type(a), type(b)
    if kinds == (int, int) and -_SMALL < a < _SMALL and -_SMALL < b < _SMALL:
        return a * b
    return a * b if float in kinds else _of_any("mul", a, b)


def mod(a: Any, b: Any) -> Any:
    """``a % b``."""
    if type(a) in _NUMBERS or isinstance(a, torch.Tensor | np.ndarray | np.generic):
        return of_numbers(a % b)
    return block_texts.filled_in(a, b)


def power(a: Any, b: Any) -> Any:
    """``a ** b``."""
    return of_numbers(within(bounded.power, a, b))


def lshift(a: Any, b: Any) -> Any:
    """``a << b``."""
    return within(bounded.lshift, a, b)


def _of_any(name: str, a: Any, b: Any) -> Any:
    if isinstance(a, deque) or isinstance(b, deque):
        sizes = [len(each) if isinstance(each, deque) else each for each in (a, b)]
        if all(isinstance(each, int) for each in sizes):
            require_few(range(max(0, FUNCTIONS[name](*sizes))))
        return getattr(operator, name)(a, b)
    return of_numbers(within(getattr(bounded, name), a, b))


def _of_arrays(name: str) -> Callable[[Any, Any], Any]:
    plain = getattr(operator, name)
    return lambda a, b: of_numbers(plain(a, b))


def paid(found: Any) -> Any:
    """What is looked at under a budget."""
    return found


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": add, "mul": mul, "mod": mod, "pow": power, "lshift": lshift,
    **{name: _of_arrays(name) for name in ("sub", "truediv", "floordiv", "rshift", "and_", "or_", "xor", "matmul")},
}  # fmt: skip
"""By the names of Python's operators; those without a bound of their own stand in blocks with arrays alone."""
