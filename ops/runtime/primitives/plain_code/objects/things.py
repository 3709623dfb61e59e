"""Objects of a block of plain Python: what stands for the instances of the user's classes in it.

A class of the user's is a `UserKind`: tables of functions and constants. Its objects are of a class that has only those
of Python's own methods (`__len__`, `__eq__`, …) that the user's has, so that Python asks for them as it does there.
"""

from __future__ import annotations

import copy
import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import FrozenInstanceError
from functools import partial
from typing import Any

_COMPARED = ("__lt__", "__le__", "__gt__", "__ge__")
_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "and", "or", "xor")
SPECIAL = frozenset((
    *_COMPARED, "__eq__", "__ne__", "__len__", "__bool__", "__contains__", "__iter__", "__next__", "__reversed__",
    "__getitem__", "__setitem__", "__delitem__", "__neg__", "__pos__", "__abs__", "__invert__", "__call__", "__int__",
    "__float__", "__repr__", "__str__",
    *(f"__{mark}{name}__" for name in _BINARY for mark in ("", "r", "i")),
))  # fmt: skip
"""Methods of Python's own that a class may have."""
_TEXTS = ("__repr__", "__str__")
"""Those that `block_texts` asks for itself."""


class UserKind:
    """A class of the user's.

    Args:
        name: its name.
        labels: the marks of the class and of its bases, by which one asks whether an object is of it.
        methods: functions that take an object first.
        getters: functions of it that give what is asked for like a field.
        setters: functions that take what such a one is set to.
        constants: what the class holds.
        table: of a dataclass, else None: the fields that it is made of, each with the name of its parameter, those by
            which two are compared, those that are shown (None where they are not), whether it is frozen, has an order,
            and is a key, all fields, and its name in texts.
        make: makes an object.
    """

    __slots__ = ("careful", "constants", "getters", "labels", "make", "methods", "name", "own", "setters", "table")

    def __init__(
        self,
        name: str,
        labels: Sequence[str],
        methods: Mapping[str, Callable[..., Any]],
        getters: Mapping[str, Callable[..., Any]],
        setters: Mapping[str, Callable[..., Any]],
        constants: Mapping[str, Any],
        table: Any,
        make: Callable[..., Any],
    ) -> None:
        if type(name) is not str or not name.isidentifier():
            raise TypeError("the name of a class is no identifier")
        self.name, self.labels, self.methods, self.make = name, labels, methods, make
        self.getters, self.setters, self.constants, self.table = getters, setters, constants, table
        self.careful = bool(getters or (table is not None and table[3]))
        own = {each for each in methods if each in SPECIAL and each not in _TEXTS}
        if table is not None:
            own |= {"__eq__"} if table[1] is not None else set()
            own |= {*_COMPARED} if table[4] else set()
        self.own = _of(name, frozenset(own), table is not None and bool(table[5]))


class ThingFields(dict[str, Any]):
    """The fields of an object, whose class gives what it lacks for ``thing.count += 1``."""

    __slots__ = ("kind",)
    kind: UserKind

    def __missing__(self, name: str) -> Any:
        if name in self.kind.constants:
            return self.kind.constants[name]
        raise AttributeError(f"{self.kind.name!r} object has no attribute {name!r}")


class Thing:
    """An object of a class.

    Args:
        kind: its class.
        fields: what it holds.
    """

    __slots__ = ("fields", "kind")

    def __init__(self, kind: UserKind, fields: Mapping[str, Any]) -> None:
        self.kind = kind
        self.fields = ThingFields(fields)
        self.fields.kind = kind

    def get(self, name: str) -> Any:
        """What Python gives for an attribute.

        Raises:
            AttributeError: it has none of that name.
        """
        kind = self.kind
        if name in kind.getters:
            return kind.getters[name](self)
        if name in self.fields:
            return self.fields[name]
        if name in kind.methods:
            return partial(kind.methods[name], self)
        if name in kind.constants:
            return kind.constants[name]
        raise AttributeError(f"{kind.name!r} object has no attribute {name!r}")

    def __copy__(self) -> Thing:
        return type(self)(self.kind, self.fields)

    def __deepcopy__(self, memo: dict[int, Any]) -> Thing:
        found = memo[id(self)] = type(self)(self.kind, {})
        found.fields.update((name, copy.deepcopy(each, memo)) for name, each in self.fields.items())
        return found


class CarefulFields:
    """The fields of an object whose class looks at what is set.

    Args:
        thing: the object.
    """

    def __init__(self, thing: Thing) -> None:
        self.thing = thing

    def __getitem__(self, name: str) -> Any:
        return self.thing.get(name)

    def __setitem__(self, name: str, value: Any) -> None:
        kind = self.thing.kind
        if kind.table is not None and kind.table[3]:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        if name in kind.setters:
            kind.setters[name](self.thing, value)
        elif name in kind.getters:
            raise AttributeError(f"property {name!r} of {kind.name!r} object has no setter")
        else:
            self.thing.fields[name] = value


@functools.lru_cache(256)
def _of(kind: str, names: frozenset[str], hashed: bool) -> type[Thing]:
    """The class of objects that have these of Python's own methods, under the name that errors of Python say."""
    held: dict[str, Any] = {"__slots__": (), **{name: _asked(name) for name in names}}
    if hashed:
        held["__hash__"] = lambda thing: hash(tuple(thing.fields[name] for name in thing.kind.table[1]))
    return type(kind, (Thing,), held)


def _asked(name: str) -> Callable[..., Any]:
    """The method of that name, by the table of the class of an object; else that of a dataclass."""

    def call(thing: Any, *args: Any, **named: Any) -> Any:
        method = thing.kind.methods.get(name)
        return _compared(name, thing, *args) if method is None else method(thing, *args, **named)

    return call


def _compared(name: str, one: Thing, other: Any) -> Any:
    if not isinstance(other, Thing) or other.kind is not one.kind:
        return NotImplemented
    a, b = (tuple(each.fields[field] for field in each.kind.table[1]) for each in (one, other))
    return getattr(operator, name)(a, b)


def new_object(kind: Any, fields: Any) -> Thing:
    """An object of a class.

    Raises:
        TypeError: it is no class.
    """
    if type(kind) is not UserKind or not isinstance(fields, dict):
        raise TypeError("an object is made of a class and a dict")
    made: Thing = kind.own(kind, fields)
    return made


def class_name(thing: Any) -> str:
    """``type(thing).__name__``."""
    return thing.kind.name if isinstance(thing, Thing) else type(thing).__name__


def replaced(thing: Any, /, **changes: Any) -> Any:
    """``dataclasses.replace(thing, name=value)``.

    Raises:
        TypeError: it is no object of a dataclass.
    """
    table = thing.kind.table if isinstance(thing, Thing) else None
    if table is None:
        raise TypeError("replace() should be called on dataclass instances")
    assert isinstance(thing, Thing)
    values = {given: changes.pop(name) if name in changes else thing.get(name) for name, given in table[0]}
    return thing.kind.make(**values, **changes)


def as_dict(thing: Any) -> Any:
    """``dataclasses.asdict(thing)``.

    Raises:
        TypeError: it is no object of a dataclass.
    """
    if not isinstance(thing, Thing) or thing.kind.table is None:
        raise TypeError("asdict() should be called on dataclass instances")
    return _plain(thing)


def _plain(thing: Any) -> Any:
    """A copy with dicts for the objects of dataclasses in it."""
    if isinstance(thing, Thing):
        table = thing.kind.table
        return copy.deepcopy(thing) if table is None else {name: _plain(thing.get(name)) for name in table[6]}
    if hasattr(type(thing), "_fields"):
        return type(thing)(*map(_plain, thing))
    if type(thing) in (list, tuple):
        return type(thing)(map(_plain, thing))
    if type(thing) is dict:
        return {_plain(key): _plain(each) for key, each in thing.items()}
    return copy.deepcopy(thing)
