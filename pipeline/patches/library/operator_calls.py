"""What stands for functions of `operator` that search: each is a method, or `in`, of what it is given."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ...proxies.lists import TracedList
from ..python.operations import CONTAINS, active


def contains(a: Any, b: Any, /) -> Any:
    """Stands for `operator.contains`, which makes a plain flag of what is found."""
    return operator.contains(a, b) if active() is None else CONTAINS[b, a]


def _of_method(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    """Stands for a function that is a method of a list of any length."""

    def call(a: Any, b: Any, /) -> Any:
        return getattr(a, name)(b) if active() is not None and type(a) is TracedList else plain(a, b)

    return call


OF_OPERATOR: dict[str, tuple[Any, Callable[..., Any]]] = {
    "contains": (operator, contains),
    "countOf": (operator, _of_method("count", operator.countOf)),
    "indexOf": (operator, _of_method("index", operator.indexOf)),
}
"""The name of a function -> its module, and what stands for it."""
