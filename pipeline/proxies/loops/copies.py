"""The copies of objects that a function gets for the items of its lists, which a graph holds by their attributes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from ....ops.graph.errors import RecordError
from ....ops.runtime.user_code import user_line

_CHANGED = "Make a new object for each, in a new list: [replace(item, field=value) for item in items]."
_IDENTITY = "Compare what they hold, such as a number of their own: a.index != b.index."
_LATER = "Put it there after its last change, or write a new one: items[i] = [*row]."


class Copies:
    """The copies of one recording, each with its attributes as they were when the function got it.

    So are the containers that it puts into lists of any length: the graph has what they hold then.
    """

    def __init__(self) -> None:
        self._made: dict[int, tuple[Any, Mapping[str, Any], str]] = {}
        self._put: list[tuple[Any, list[Any], str]] = []

    def add(self, copy: Any, attributes: Mapping[str, Any]) -> None:
        """Takes note of a copy."""
        self._made[id(copy)] = copy, attributes, str(user_line() or "")

    def put(self, entry: Any) -> None:
        """Takes note of the lists, dicts and sets in what becomes an item of a list."""
        where = str(user_line() or "")
        self._put += [(each, [*_parts(each)], where) for each in _containers(entry)]

    def refuse_changed(self) -> None:
        """Refuses a recording that changed a copy, or what it had put into a list: the list would not have it.

        Raises:
            RecordError: it did.
        """
        for container, parts, where in self._put:
            now = [*_parts(container)]
            if len(now) != len(parts) or any(one is not other for one, other in zip(now, parts, strict=True)):
                what = f"a {type(container).__name__} is changed after it was put into a list of any length"
                raise RecordError(what, where=where, fix=_LATER)
        for copy, attributes, where in self._made.values():
            kind = type(copy)
            more = [name for name in getattr(copy, "__dict__", ()) if name not in attributes]
            added = any(not isinstance(getattr(kind, name, None), cached_property) for name in more)
            if added or any(getattr(copy, name, Copies) is not value for name, value in attributes.items()):
                what = f"an object of a list of any length is changed, a {kind.__name__}"
                raise RecordError(what, where=where, fix=_CHANGED)

    def refuse_identity(self, *things: Any) -> None:
        """Refuses to tell whether two things are one, where they are copies.

        Raises:
            RecordError: they are.
        """
        if all(id(thing) in self._made for thing in things):
            what = f"whether two objects of a list of any length are one, of {type(things[0]).__name__}, is not known"
            raise RecordError(what, where=str(user_line() or ""), fix=_IDENTITY)


def _containers(thing: Any) -> Iterator[Any]:
    """The containers of Python in a thing that may change, itself among them."""
    kind = type(thing)
    if issubclass(kind, list | dict | set | deque):
        yield thing
    if issubclass(kind, list | dict | tuple | deque):
        for part in _parts(thing):
            yield from _containers(part)


def _parts(container: Any) -> Iterator[Any]:
    yield from container
    if issubclass(type(container), dict):
        yield from container.values()
