"""The ways from one object to another that code can go: by an attribute or a global that it names, or by any item."""

from __future__ import annotations

import sys
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

from ..places import Location, Named, Variable

_FILLED = (list, dict, set, deque)
OF_OBJECT = ""
"""The way from an object to its class, which code may go that does not have the class itself."""


class Ways:
    """What each object leads to.

    Args:
        start: the object from which all begin.

    Attributes:
        modules: the names of the modules that were there.
    """

    def __init__(self, start: Any) -> None:
        self.start, self.modules = start, frozenset(sys.modules)
        self._from: defaultdict[int, list[tuple[str | None, Any]]] = defaultdict(list)
        self._held: defaultdict[int, list[Location]] = defaultdict(list)

    def add(self, place: int, things: Iterable[Any], name: str | None = None) -> None:
        """Adds ways from the object with an id.

        Args:
            place: the id.
            things: where they lead.
            name: the one that code has to name to go there; None where it need not.
        """
        self._from[place] += [(name, thing) for thing in things]

    def add_place(self, place: int, held: Location) -> None:
        """Adds the ways to what an object holds."""
        self._held[place].append(held)

    def of(self, thing: Any) -> Iterator[tuple[str | None, Any]]:
        """The ways from an object, each with the name that code has to name."""
        yield from self._from.get(id(thing), ())
        for held in self._held.get(id(thing), ()):
            named = isinstance(held.holder, Named)
            for key, item in held.before.items():
                yield (key if named and isinstance(key, str) else None), item
                yield None, key

    def names(self) -> dict[int, frozenset[str]]:
        """The names under which objects are kept, by their ids: of attributes, variables and keys."""
        found: defaultdict[int, set[str]] = defaultdict(set)
        for name, things in self.named.items():
            for thing in things:
                found[id(thing)].add(name)
        return {place: frozenset(names) for place, names in found.items()}

    def holds_filled(self, name: str) -> bool:
        """Whether lists, dicts, sets and deques are kept under a name, and nothing else."""
        return bool(name) and all(isinstance(each, _FILLED) for each in self.named.get(name, (None,)))

    @cached_property
    def named(self) -> dict[str, list[Any]]:
        """What is kept under each name: of attributes, variables and keys."""
        found: defaultdict[str, list[Any]] = defaultdict(list)
        for held in (each for places in self._held.values() for each in places):
            of_variable = held.holder.name if isinstance(held.holder, Variable) else None
            for key, item in held.before.items():
                if isinstance(key, str):
                    found[key if of_variable is None else of_variable].append(item)
        return found
