"""Operators of a block of plain Python whose results may grow: small numbers and short texts go first."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable
from typing import Any

import torch

from .. import bounded
from . import block_texts
from .block_refusals import within
from .gone_through import require_few

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
    return a % b if type(a) in _NUMBERS or isinstance(a, torch.Tensor) else block_texts.filled_in(a, b)


def power(a: Any, b: Any) -> Any:
    """``a ** b``."""
    return within(bounded.power, a, b)


def lshift(a: Any, b: Any) -> Any:
    """``a << b``."""
    return within(bounded.lshift, a, b)


def _of_any(name: str, a: Any, b: Any) -> Any:
    if isinstance(a, deque) or isinstance(b, deque):
        sizes = [len(each) if isinstance(each, deque) else each for each in (a, b)]
        if all(isinstance(each, int) for each in sizes):
            require_few(range(max(0, FUNCTIONS[name](*sizes))))
        return getattr(operator, name)(a, b)
    return within(getattr(bounded, name), a, b)


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": add, "mul": mul, "mod": mod, "pow": power, "lshift": lshift,
}  # fmt: skip
"""By the names of Python's operators."""
