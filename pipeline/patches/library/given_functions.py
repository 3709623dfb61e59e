"""Functions that a recorded function hands to one of Python's, such as the key of a sort, as they can be recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....ops.runtime.user_code import attribute
from ...lists.mapping import each
from ...proxies.keys.asked_caches import is_cache
from ...proxies.lists import TracedList
from ...recording.recorder import Recorder
from ...rules.number_or_tensor import number_of
from ..python.operations import SUBSCRIPT
from ..redirect import Uncached
from .tables.chosen_functions import as_recorded


def recorded(function: Any) -> Callable[[Any], Any]:
    """The function, or what stands for a builtin, a method of str, the subscript of a table, or what has a cache."""
    owner, name = attribute(function, "__self__"), attribute(function, "__name__", "")
    if name == "__getitem__" and type(owner) in (list, dict, tuple):
        return _entry_of(owner)
    return Uncached(function) if is_cache(function) else as_recorded(function)


def keys_of(recorder: Recorder, key: Any, items: Any) -> Any:
    """The keys by which a list is sorted: of any length as the list is."""
    if type(items) is TracedList:
        return each(recorder, recorded(key), items)
    return [number_of(recorder, recorded(key)(item)) for item in items]


def _entry_of(table: Any) -> Callable[[Any], Any]:
    def entry(key: Any) -> Any:
        key, container = SUBSCRIPT[(table, key)]
        return container[key]

    return entry
