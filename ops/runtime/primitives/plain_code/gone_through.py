"""What goes through items in a block of plain Python: in an order that is theirs, and no more of them than may be.

Builtins of Python that keep what they go through (`list`, `sorted`, …) are functions of this module for a block, also
where it hands one on, as in ``map(list, rows)``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from itertools import pairwise
from typing import Any

import numpy as np

from .. import bounded
from .objects.made_classes import is_object
from .one_run.block_refusals import refuse, within
from .one_run.set_orders import ORDERS, order

_SETS = (set, frozenset)
_NUMBERS = (int, float, complex)
SIZED = (list, tuple, dict, set, frozenset, str, bytes, deque, range)


def has_order(items: Any) -> bool:
    """Whether it is no set whose order no two processes share."""
    return not isinstance(items, _SETS) or len(items) < 2 or all(isinstance(each, int) for each in items)


def ordered(items: Any) -> Any:
    """What is gone through in its order; a set of texts in that of the run.

    Raises:
        RefusedError: it is a set whose items have no order that two processes share, or too long.
    """
    kind = type(items)
    if kind in _SETS and not has_order(items):
        found = orders.of(items) if (orders := order.get()) is not None else None
        return require_order(items) if found is None else found
    if kind is range and len(items) > bounded.MOST_ITEMS:
        refuse("a range is too long", got=len(items), expected=f"at most {bounded.MOST_ITEMS}")
    return items


def require_order(items: Any) -> Any:
    """What is shown, or asked for one item, in its order.

    Raises:
        RefusedError: it is a set whose order no two processes share.
    """
    if not has_order(items):
        refuse(ORDERS, fix="Write sorted(items).")
    return items


def counted(items: Any) -> Any:
    """What is kept as a whole; an iterator is gone through to the end only where that comes soon enough.

    Raises:
        RefusedError: it is too long.
    """
    if isinstance(items, SIZED):
        require_few(items)
        return items
    if isinstance(items, np.ndarray):
        return require_few(items) if items.ndim else items
    if is_object(items) and any(hasattr(type(items), each) for each in ("__iter__", "__getitem__")):
        items = iter(items)
    return _counted(items) if hasattr(type(items), "__next__") else items


def _counted(items: Iterator[Any]) -> Iterator[Any]:
    for place, each in enumerate(items):  # one that has ended is not asked again: `zip` would take an item more
        if place >= bounded.MOST_ITEMS:
            refuse("a list grows too large", expected=f"at most {bounded.MOST_ITEMS}")
        yield each


def bounded_items(items: Any) -> Any:
    """What is kept as a whole, in its order."""
    return counted(ordered(items))


def require_few(items: Any) -> Any:
    """A container that is not too long.

    Raises:
        RefusedError: it is.
    """
    if len(items) > bounded.MOST_ITEMS:
        refuse("a list grows too large", got=len(items), expected=f"at most {bounded.MOST_ITEMS}")
    return items


def each_ordered(items: Any) -> Any:
    """Items that are unpacked one by one."""
    return map(ordered, ordered(items))


def gathered(items: Iterator[Any]) -> list[Any]:
    """A list of what a generator gives."""
    return [*_counted(items)]


def _keeping(function: Callable[..., Any], check: Callable[[Any], Any]) -> Callable[..., Any]:
    """The function, whose arguments go through a check."""

    @wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        return function(*map(check, args), **named)

    return call


def in_order(items: Any, key: Any = None, reverse: Any = False) -> list[Any]:
    """``sorted(items, key=…, reverse=…)``; items of a set must not be alike to the key."""
    if has_order(items):
        return sorted(counted(items), key=key, reverse=reverse)
    keyed = [(each if key is None else key(each), each) for each in items]
    keyed.sort(key=_first, reverse=reverse)
    if any(not (a < b or b < a) for (a, _), (b, _) in pairwise(keyed)):
        refuse("items of a set are alike to what sorts them", fix="Write sorted(sorted(items), key=…).")
    return [each for _, each in keyed]


def _first(pair: Any) -> Any:
    return pair[0]


def _extreme(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **named: Any) -> Any:
        if len(args) != 1 or has_order(args[0]):
            return function(*args, **named)
        key = named.get("key")
        if key is None:
            kinds = set(map(type, args[0]))
            return function(*args, **named) if kinds <= {str} or kinds <= {int} else require_order(args[0])
        keyed = [(key(each), each) for each in args[0]]
        best = function(keyed, key=_first)
        if sum(not (best[0] < found or found < best[0]) for found, _ in keyed) > 1:
            refuse("items of a set are alike to the key that compares them", fix="Write sorted(items).")
        return best[1]

    return call


def total(items: Iterable[Any], /, start: Any = 0) -> Any:
    """``sum(items, start)``."""
    items = ordered(items)
    if isinstance(start, _NUMBERS):
        return sum(items, start)
    if isinstance(start, str | bytes):
        return sum((), start)  # Python's own error
    for each in items:
        start = within(bounded.add, start, each)
    return start


NAMES: dict[str, Callable[..., Any]] = {
    **{function.__name__: _keeping(function, bounded_items) for function in (list, tuple, dict)},
    **{function.__name__: _keeping(function, counted) for function in (set, frozenset)},
    **{function.__name__: _keeping(function, ordered) for function in (enumerate, iter, zip, map, filter, reversed)},
    "sorted": in_order, "min": _extreme(min), "max": _extreme(max), "sum": total,
}  # fmt: skip
"""Builtins of Python, as a block has them."""
