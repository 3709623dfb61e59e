"""The entries of a dict or a set while code of Python makes it, where their keys are decided at run time.

Python wants to hash a key at once. Each goes in under an object of its own instead, and the keys are taken from these
when the container is made: then their order, and which of them are equal, is known to the graph.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from operator import itemgetter
from typing import Any

from ...lists.loop import Loop
from ...lists.mapping import each
from ...proxies.base import is_traced
from ...proxies.sets import TracedSet
from ...recording.recorder import Recorder

_numbers = itertools.count()


class TracedKey:
    """A key for as long as a dict or a set is built; the number tells the order in which a set got them."""

    def __init__(self, key: Any) -> None:
        self.key, self.number = key, next(_numbers)


def hashable(recorder: Recorder | None, key: Any) -> Any:
    """What Python's container gets for a key: in a loop of the graph each round adds one, also of equal keys."""
    return key if recorder is None or not (recorder.rounds.open or is_traced(key)) else TracedKey(key)


def _key(key: Any) -> Any:
    return key.key if isinstance(key, TracedKey) else key


def dict_of(recorder: Recorder | None, items: Iterable[tuple[Any, Any]]) -> Any:
    """The dict of some pairs, recorded where a key is traced."""
    pairs = [(_key(key), item) for key, item in items]
    if recorder is None or not any(is_traced(key) for key, _ in pairs):
        return dict(pairs)
    return recorder.scalar("dict", [key for key, _ in pairs], [item for _, item in pairs])


def set_of(recorder: Recorder | None, items: set[Any]) -> Any:
    """The set of some items, recorded where one is traced."""
    if recorder is None or not any(isinstance(item, TracedKey) for item in items):
        return items
    plain = sorted((item for item in items if not isinstance(item, TracedKey)), key=repr)
    found = plain + [item.key for item in sorted(items - {*plain}, key=lambda item: item.number)]
    return _set(recorder, recorder.scalar("list", found)) if any(map(is_traced, found)) else set(found)


def gathered(recorder: Recorder, loop: Loop, result: Any) -> Any:
    """What a loop of the graph makes, from what its rounds put into a list, a dict or a set."""
    if type(result) is set:
        return _set(recorder, loop.gathered([item.key for item in sorted(result, key=lambda item: item.number)]))
    if type(result) is not dict:
        return loop.gathered(result)
    pairs = loop.gathered([[_key(key), item] for key, item in result.items()])
    keys, entries = (each(recorder, itemgetter(index), pairs) for index in (0, 1))
    return recorder.scalar("dict", keys, entries)


def _set(recorder: Recorder, items: Any) -> TracedSet:
    return TracedSet(recorder, recorder.scalar("unique", items))
