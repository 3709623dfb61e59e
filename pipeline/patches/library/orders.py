"""Stand-ins for the searches of `bisect` in sorted constants, and for `heapq.nlargest` and `nsmallest`."""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from ...lists.walking.iterators import collected
from ...proxies.base import is_traced
from ...proxies.lists import TracedList
from ..python.operations import active, holds_traced
from .given_functions import keys_of

MOST_EDGES = 256
"""The constants that are compared one by one."""


def _searching(name: str) -> Callable[..., Any]:
    plain = getattr(bisect, name)

    def call(edges: Any, item: Any, *args: Any, **options: Any) -> Any:
        recorder = active()
        if recorder is None or args or options or not is_traced(item) or not _are_sorted(edges):
            return plain(edges, item, *args, **options)
        # A NaN is not before any, as in Python's own search.
        before = [edge < item if name == "bisect_left" else item < edge for edge in edges]
        count = recorder.scalar("total", [recorder.scalar("int", each) for each in before])
        return count if name == "bisect_left" else len(edges) - count

    return call


def _are_sorted(edges: Any) -> bool:
    """Whether they are constants in order, so that the search is a count."""
    if type(edges) not in (list, tuple) or not 0 < len(edges) <= MOST_EDGES or holds_traced(edges):
        return False
    return all(one <= other for one, other in pairwise(edges))


def _foremost(plain: Callable[..., Any], largest: bool) -> Callable[..., Any]:
    """Stands for `heapq.nlargest` or `heapq.nsmallest`."""

    def call(n: Any, iterable: Any, key: Any = None) -> Any:
        recorder = active()
        items = iterable if recorder is None else collected(recorder, iterable)
        if recorder is None or not (type(items) is TracedList or holds_traced(items)):
            return plain(n, items, key)
        keys = items if key is None else keys_of(recorder, key, items)
        return recorder.scalar("foremost", items, keys, n, largest)

    return call


OF_ORDERS: dict[str, tuple[Any, Callable[..., Any]]] = {
    **{name: (bisect, _searching(name)) for name in ("bisect", "bisect_left", "bisect_right")},
    "nlargest": (heapq, _foremost(heapq.nlargest, largest=True)),
    "nsmallest": (heapq, _foremost(heapq.nsmallest, largest=False)),
}
"""The name of a function -> its module, and what stands for it."""
