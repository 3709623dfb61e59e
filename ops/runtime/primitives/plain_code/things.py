"""Objects of a block of plain Python: what stands for the instances of the user's classes in it."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any


class Thing:
    """An object with fields, methods and constants of its class.

    Args:
        kind: the name of its class.
        methods: functions that take it first.
        getters: functions of it that give what is asked for like a field.
        constants: what its class holds.
        compared: whether two with equal fields are equal, as those of a dataclass are; else each equals itself alone.
        fields: those of an object that does not change.
    """

    __slots__ = ("compared", "constants", "fields", "frozen", "getters", "kind", "methods")

    def __init__(
        self,
        kind: str,
        methods: Mapping[str, Callable[..., Any]],
        getters: Mapping[str, Callable[..., Any]],
        constants: Mapping[str, Any],
        compared: bool,
        fields: Mapping[str, Any] | None = None,
    ) -> None:
        if type(kind) is not str or not kind.isidentifier():
            raise TypeError("the name of a class is no identifier")
        self.kind, self.methods, self.getters = kind, methods, getters
        self.constants, self.compared = constants, compared
        self.fields, self.frozen = dict[str, Any](fields or {}), fields is not None

    def get(self, name: str) -> Any:
        """What Python gives for an attribute.

        Raises:
            AttributeError: it has none of that name.
        """
        if name in self.getters:
            return self.getters[name](self)
        if name in self.fields:
            return self.fields[name]
        if name in self.methods:
            return partial(self.methods[name], self)
        if name in self.constants:
            return self.constants[name]
        raise AttributeError(f"{self.kind!r} object has no attribute {name!r}")

    def __eq__(self, other: object) -> bool:
        if not self.compared or not isinstance(other, Thing) or other.kind != self.kind:
            return self is other
        return list(self.fields.values()) == list(other.fields.values())

    def __hash__(self) -> int:
        if self.compared and self.frozen:
            return hash(tuple(self.fields.values()))
        if self.compared:
            raise TypeError(f"unhashable type: {self.kind!r}")
        return id(self)


@lru_cache(256)
def record_class(name: str, fields: Sequence[str]) -> Any:
    """The class of tuples with named fields that has these."""
    return namedtuple(name, fields)


def is_record(thing: Any, name: str) -> bool:
    """Whether a thing is a tuple with a field of some name."""
    return isinstance(thing, tuple) and name in getattr(type(thing), "_fields", ())


def member(kind: str, name: str, value: Any) -> Thing:
    """A member of an Enum, which equals itself alone."""
    found = Thing(kind, {}, {}, {}, False)
    found.fields |= {"name": name, "value": value}
    return found


def same(one: Any, other: Any) -> bool:
    """``one is other`` of members of an Enum; of other things memory would decide it.

    Raises:
        TypeError: neither is an object.
    """
    if type(one) is not Thing and type(other) is not Thing:
        raise TypeError("a block of plain Python compares two things by identity")
    return one is other


_MOST_BASES = 16


@lru_cache(4096)
def error_class(name: str, kind: type[Exception]) -> type[Exception]:
    """The class of the user's errors that is called so.

    Raises:
        TypeError: it is none of errors.
    """
    is_one = isinstance(kind, type) and issubclass(kind, Exception) and len(kind.__mro__) < _MOST_BASES
    if type(name) is not str or not name.isidentifier() or not is_one:
        raise TypeError("a class of errors has a name and a class that it is one of")
    return type(name, (kind,), {})


HELD = "held_outside"
"""The function of a block that takes note of what it must not change."""
MAKERS = {
    "new_object": Thing, "record_class": record_class, "member": member, "is_same_object": same,
    "error_class": error_class,
}  # fmt: skip
"""What makes them, by its names in a block."""


def as_dict(thing: Any) -> Any:
    """``dataclasses.asdict(thing)``.

    Raises:
        TypeError: it is no object of a dataclass.
    """
    if type(thing) is not Thing or not thing.compared:
        raise TypeError("asdict() should be called on dataclass instances")
    return _plain(thing)


def _plain(thing: Any) -> Any:
    """A copy with dicts for the objects of dataclasses in it."""
    if type(thing) is Thing:
        return {name: _plain(each) for name, each in thing.fields.items()} if thing.compared else thing
    if hasattr(type(thing), "_fields"):
        return type(thing)(*map(_plain, thing))
    if type(thing) in (list, tuple):
        return type(thing)(map(_plain, thing))
    if type(thing) is dict:
        return {_plain(key): _plain(each) for key, each in thing.items()}
    return thing.copy() if isinstance(thing, set | dict) else thing
