"""The order of lists: what is sorted, first or last in it, and the runs of equal items."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from typing import Any

from ....graph.errors import GuardError
from ..bounded import as_int, require_few


def ordered(items: Any, reverse: bool = False) -> list[Any]:
    """``sorted(items, reverse=reverse)``."""
    bounded_items(items)
    return sorted(items, reverse=bool(reverse))


def ordered_by(items: Any, keys: Any, reverse: bool = False) -> list[Any]:
    """``sorted(items, key=..., reverse=reverse)``, with the key of each item."""
    return [items[index] for index in ordered_places(keys, reverse)]


def ordered_places(keys: Any, reverse: bool) -> list[int]:
    """The places of the keys in their order; equal ones stay as they are."""
    bounded_items(keys)
    return sorted(range(len(keys)), key=keys.__getitem__, reverse=bool(reverse))


def best_by(largest: bool, items: Any, keys: Any) -> Any:
    """``max(items, key=...)`` or ``min(items, key=...)``, with the key of each item."""
    bounded_items(keys)
    return items[(max if largest else min)(range(len(keys)), key=keys.__getitem__)]


def foremost(items: Any, keys: Any, n: int, largest: bool) -> list[Any]:
    """``heapq.nlargest(n, items, key=...)`` or ``nsmallest``, with the key of each item."""
    bounded_items(keys)
    choose = heapq.nlargest if largest else heapq.nsmallest
    return [items[index] for index in choose(as_int(n) or 0, range(len(keys)), key=keys.__getitem__)]


def bounded_items(items: Any) -> None:
    """Checks a list whose items are compared: its length, and of a long one the characters of its texts."""
    require_few(len(items))
    if len(items) <= 256:
        return
    kinds = set(map(type, items))
    texts = items if kinds <= {str, bytes} else [item for item in items if isinstance(item, str | bytes)]
    if sum(map(len, texts)) > MOST_COMPARED:
        raise GuardError("the texts of a list are too long", expected=f"at most {MOST_COMPARED} characters in all")


MOST_COMPARED = 1 << 30
"""The characters of all texts of a list whose items are compared, where one that stands twice counts twice."""


def runs(keys: Any) -> list[Any]:
    """Where each run of equal keys that follow each other begins and ends."""
    bounded_items(keys)
    starts = [index for index in range(len(keys)) if not index or keys[index] != keys[index - 1]]
    return list(itertools.pairwise([*starts, len(keys)]))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sorted": ordered, "sorted_by": ordered_by, "foremost": foremost, "best_by": best_by, "runs": runs,
}  # fmt: skip
"""The operators on the order of lists by their names in the family ``py.…``."""
