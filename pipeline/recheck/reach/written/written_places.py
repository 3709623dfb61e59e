"""Which of the places that a function can reach it can have written: all others belong to whoever wrote them.

Code counts that the function can come to by the names in it: not each method of each class whose objects it knows.
Code of other packages, of hooks and of callbacks is not read: where the function comes to any, every place counts.
So it does where no other thread runs, since nobody else can have written then.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ....proxies.base import is_traced
from ..places import Location, Named, Variable, holds_stand_in
from .comings import Comings
from .named_ways import Ways
from .stores import Stores

_FILLED = (list, dict, set, deque, np.ndarray)


class WrittenPlaces:
    """What a function can have written.

    Args:
        ways: from the function to all objects that it can reach.
        unread: whether not all was looked at.
    """

    def __init__(self, ways: Ways, unread: bool) -> None:
        self._ways, self._comings = ways, Comings(ways, unread)
        self._others = _other_threads_run()

    def keys_in(self, place: Location) -> frozenset[Any] | None:
        """The keys of a place that can have been written; None for any."""
        self._others = self._others or _other_threads_run()
        if not self._others:
            return None
        stores, thing = self._stores, place.holder
        if stores is None or thing is None or id(thing) in self._comings.lent:
            return None
        match thing:
            case Named():
                return stores.attributes | stores.variables | place.tried
            case Variable():
                return frozenset(("",)) if thing.name in stores.variables or place.tried else frozenset()
        keys = stores.keys_in(thing, self._names.get(id(thing), frozenset()))
        return None if keys is None else keys | place.tried

    def among(self, place: Location, keys: Sequence[Any]) -> list[Any]:
        """Those among some keys of a place that can have been written, or that hold a stand-in of a recording."""
        allowed = self.keys_in(place) if keys else None
        if allowed is None:
            return [*keys]
        now = place.read()
        return [key for key in keys if holds_stand_in(key) or key in allowed or is_traced(now.get(key))]

    def changed_in(self, place: Location) -> list[Any]:
        """The keys of a place that were written to; the first one, where only their order is another."""
        keys = place.changed()
        return self.among(place, keys) or (keys[:1] if keys and self.among(place, place.turned()) else [])

    def may_write(self, thing: Any) -> bool:
        """Whether the function can write into a list, a dict, a set or an array that is new."""
        if not isinstance(thing, _FILLED):
            return False
        stores = self._stores
        keys = None if stores is None else stores.keys_in(thing, frozenset())
        return keys is None or any(key in keys for key in thing)

    @cached_property
    def _stores(self) -> Stores | None:
        return self._comings.stores()

    @cached_property
    def _names(self) -> dict[int, frozenset[str]]:
        return self._ways.names()


def _other_threads_run() -> bool:
    return len(sys._current_frames()) > 1
