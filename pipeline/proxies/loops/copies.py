"""The copies of objects that a function gets for the items of its lists, which a graph holds by their attributes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from ....ops.graph.errors import RecordError
from ....ops.runtime.user_code import user_line

_CHANGED = "Make a new object for each, in a new list: [replace(item, field=value) for item in items]."
_IDENTITY = "Compare what they hold, such as a number of their own: a.index != b.index."


class Copies:
    """The copies of one recording, each with its attributes as they were when the function got it."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[Any, Mapping[str, Any], str]] = {}

    def add(self, copy: Any, attributes: Mapping[str, Any]) -> None:
        """Takes note of a copy."""
        self._made[id(copy)] = copy, attributes, str(user_line() or "")

    def refuse_changed(self) -> None:
        """Refuses a recording that changed a copy: the list would not have it.

        Raises:
            RecordError: it did.
        """
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
