"""Lists, dicts and arrays that a side of a choice gives and did not make: other code may know them.

What a choice gives in a recording is another object than either side's, so a change of it would miss them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ...proxies.arrays import TracedArray
from ...proxies.base import is_traced

_CHANGING = (list, dict, set, np.ndarray)


def is_known_elsewhere(result: Any) -> bool:
    """Whether something else holds a result, or what is in it, than one variable of the code that asks."""
    if _changes(result) and (sys.getrefcount(result) > _of_result() or _is_view(result)):
        return True
    if type(result) is TracedArray and result.handed_on:
        return True
    return _holds_known(result)


def _asked(result: Any) -> int:
    return sys.getrefcount(result)


def _of_result() -> int:
    """The references to a new container where it is asked about as above.

    Counted at each question: a hook on frames (torch.compile sets one) keeps arguments of calls for one more.
    """
    fresh = list[Any]()
    return _asked(fresh)


def _holds_known(container: Any) -> bool:
    for item in _items(container):
        if _changes(item) and (sys.getrefcount(item) > _OF_FRESH or _is_view(item)):
            return True
        if type(item) is TracedArray and item.handed_on:
            return True
        if _holds_known(item):
            return True
    return False


def _of_fresh() -> int:
    for item in _items([[]]):
        return sys.getrefcount(item)
    return 0


def _changes(thing: Any) -> bool:
    return isinstance(thing, _CHANGING) and not is_traced(thing)


def _is_view(thing: Any) -> bool:
    return isinstance(thing, np.ndarray) and thing.base is not None


def _items(container: Any) -> Iterable[Any]:
    if is_traced(container):
        return ()
    if isinstance(container, dict):
        return container.values()
    return container if isinstance(container, list | tuple | set) else ()


_OF_FRESH = _of_fresh()


def containers_in(tree: Any) -> Iterator[tuple[Any, Any]]:
    """The lists, dicts and arrays in a tree, with what is in each."""
    if isinstance(tree, list | dict | np.ndarray) and not is_traced(tree):
        yield tree, contents(tree)
    for item in _items(tree):
        yield from containers_in(item)


def contents(container: Any) -> Any:
    """What is in a list or a dict, with the keys; the bytes of an array."""
    if isinstance(container, np.ndarray):
        return container.tobytes()
    return [*container, *container.values()] if isinstance(container, dict) else [*container]


def is_changed(container: Any, held: Any) -> bool:
    """Whether there is something else in a container than `contents` gave."""
    found = contents(container)
    return bool(found != held) if isinstance(held, bytes) else [*map(id, found)] != [*map(id, held)]
