"""Functions with a cache of Python's: what they keep belongs to the user, and nothing of a recording stays in it."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from .....ops.runtime.user_code import attribute
from ....proxies.base import is_traced
from ..contents.hidden import misses


class Caches:
    """The functions with `functools.lru_cache` that were met, and how much each had computed."""

    def __init__(self) -> None:
        self._met: list[tuple[Any, int]] = []

    def __iter__(self) -> Iterator[Any]:
        return (cache for cache, _ in self._met)

    def meet(self, thing: Any) -> list[Any]:
        """Takes note of an object if it is one; returns what it keeps."""
        if not hasattr(thing, "cache_info"):
            return []
        self._met.append((thing, misses(thing)))
        return _results_in(thing)

    def are_filled(self) -> bool:
        """Whether one has computed something meanwhile."""
        return any(misses(cache) > before for cache, before in self._met)

    def forget(self, filled: bool) -> None:
        """Empties those that keep things of a recording; with `filled`, those that were filled meanwhile, too."""
        for cache, before in self._met:
            if _holds_traced(cache) or (filled and misses(cache) > before):
                cache.cache_clear()

    def empty(self, may_write: Callable[[Any], bool]) -> None:
        """Empties those that were filled meanwhile with what may have been written: nobody knows how it was."""
        for cache, before in self._met:
            if misses(cache) > before and any(map(may_write, _results_in(cache))):
                cache.cache_clear()


def _holds_traced(cache: Any) -> bool:
    """Whether a function with `functools.lru_cache` keeps something of a recording, as a key or a result."""
    waiting, met = gc.get_referents(cache), 0
    while waiting and met < _MOST_CACHED:
        thing, met = waiting.pop(), met + 1
        if is_traced(thing):
            return True
        if type(thing) in (tuple, list):
            waiting += thing
        elif type(thing) is dict and thing is not getattr(cache, "__dict__", None):
            waiting += [*thing, *thing.values()]
    return False


_MOST_CACHED = 100_000
_MOST_LOOKED_AT = 1000


def _results_in(cache: Any) -> list[Any]:
    """What a function with `functools.lru_cache` keeps, but for the table in which it does: keys and results."""
    parameters = attribute(cache, "cache_parameters", dict)()
    own, found = attribute(cache, "__dict__"), gc.get_referents(cache)
    if parameters.get("maxsize", 0) is None:  # its table has the results themselves
        tables = [each for each in found if type(each) is dict and each is not own]
        return [each for table in tables for each in [*table.values()][:_MOST_LOOKED_AT]]
    kept = [each for each in found if each is not own and not isinstance(each, type | FunctionType)]
    return [each for each in kept if not (type(each) is dict and _is_table(each))][:_MOST_LOOKED_AT]


def _is_table(thing: dict[Any, Any]) -> bool:
    return not thing or "lru_list_elem" in type(next(iter(thing.values()))).__name__
