"""Constants that are objects, such as the rules of a table: dataclasses, namedtuples, and others with plain attributes.

A graph holds no objects. It holds the attributes that differ, in tuples; what the code gets for one is a copy of an
object around those of the recording, with its methods and with all that is the same in every object.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from ....ops.runtime.primitives.named_tuples import as_named_tuple, is_record
from ..base import is_traced

_KINDS = (str, int, float, bool)
_NOT_PLAIN = (__name__.partition(".")[0], "builtins", "torch", "numpy")
"""Packages whose objects are more than their attributes."""


def kind_of_constant(item: Any) -> Any:
    """The type of a number or a text, or the types in a container of them; None for any other thing."""
    if is_traced(item):
        return None
    if type(item) is tuple and item:
        kinds = tuple(map(kind_of_constant, item))
        return None if None in kinds else kinds
    if type(item) is list and item:
        alike = set(map(type, item))
        return (list, *alike) if len(alike) == 1 and alike <= set(_KINDS) else None
    if type(item) is dict and item and all(type(key) is str for key in item):
        entries = tuple((key, kind_of_constant(value)) for key, value in item.items())
        return None if any(kind is None for _, kind in entries) else (dict, *entries)
    return type(item) if type(item) in _KINDS else None


@dataclasses.dataclass(frozen=True)
class ObjectForm:
    """How objects that are alike stand in a graph.

    Attributes:
        example: one of them.
        names: the attributes in the tuple; the others are the same in all objects.
        is_record: whether the tuple is all that there is of an object, so that it may be a result.
    """

    example: Any
    names: tuple[str, ...]
    is_record: bool

    @property
    def kind(self) -> type:
        """The class of the objects."""
        return type(self.example)

    @property
    def classes(self) -> frozenset[type]:
        """The class of the objects, and no other."""
        return frozenset((self.kind,))

    @property
    def is_compared_otherwise(self) -> bool:
        """Whether Python does not compare the objects as it does the tuples, item by item."""
        own: Any = self.kind
        return own.__eq__ is not tuple.__eq__ or own.__lt__ is not tuple.__lt__

    def plain(self, thing: Any) -> Any:
        """The tuple of an object."""
        found = tuple(getattr(thing, name) for name in self.names)
        return type(self._record())(*found) if self.is_record else found

    def _record(self) -> Any:
        return self.example if is_record(self.example) else as_named_tuple(self.example)

    def __call__(self, parts: Sequence[Any]) -> Any:
        """The object around the parts of a tuple."""
        given = dict(zip(self.names, parts, strict=True))
        if is_record(self.example):
            return self.example._replace(**given)
        found = object.__new__(type(self.example))
        for name in names_of(self.example):
            object.__setattr__(found, name, given.get(name, getattr(self.example, name)))
        return found


@dataclasses.dataclass(frozen=True)
class TupleForm:
    """How tuples with objects in them, such as those of `enumerate`, stand in a graph: the form of each part."""

    parts: tuple[Any, ...]
    is_record = False

    @property
    def classes(self) -> frozenset[type]:
        """The classes of the objects."""
        return frozenset(kind for part in self.parts if part for kind in part.classes)

    @property
    def is_compared_otherwise(self) -> bool:
        """Whether Python does not compare the tuples as it does those of the graph."""
        return any(part.is_compared_otherwise for part in self.parts if part)

    def plain(self, thing: Any) -> Any:
        """The tuple with tuples for objects."""
        return tuple(part.plain(each) if part else each for part, each in zip(self.parts, thing, strict=True))

    def __call__(self, parts: Sequence[Any]) -> Any:
        """The tuple with objects."""
        return tuple(part(each) if part else each for part, each in zip(self.parts, parts, strict=True))


def form_of(items: Sequence[Any]) -> Any:
    """The form of constants that are objects of one class, or tuples of such; None for any others."""
    first = items[0] if items else None
    if not items or is_traced(first) or any(type(item) is not type(first) for item in items):
        return None
    if type(first) is tuple:
        if not first or any(len(item) != len(first) for item in items):
            return None
        parts = tuple(map(form_of, zip(*items, strict=True)))
        if not any(parts):
            return None
        plain = [kind_of_constant(each) for each in zip(*items, strict=True)]
        known = all(part or kind for part, kind in zip(parts, plain, strict=True))
        return TupleForm(parts) if known else None
    return _form_of_objects(items) if is_object(first) else None


def form_of_alike(example: Any) -> ObjectForm:
    """The form of objects that have the attributes of one of them, whatever these are."""
    return ObjectForm(example, names_of(example), _is_whole(example, names_of(example)))


def _is_whole(example: Any, names: Sequence[str]) -> bool:
    """Whether some attributes are all that there is of an object, which is a record."""
    if not dataclasses.is_dataclass(example):
        return is_record(example)
    return [each.name for each in dataclasses.fields(example)] == list(names) and bool(as_named_tuple(example))


def _form_of_objects(items: Sequence[Any]) -> ObjectForm | None:
    names = names_of(items[0])
    if any(names_of(item) != names for item in items):
        return None
    columns = {name: [getattr(item, name) for item in items] for name in names}
    plain = {name for name, column in columns.items() if _are_alike(column)}
    same = {name for name, column in columns.items() if all(each is column[0] for each in column)}
    if not plain or plain | same != set(names):
        return None
    whole = plain == set(names) and _is_whole(items[0], names)
    return ObjectForm(items[0], names if whole else tuple(name for name in names if name in plain), whole)


def _are_alike(column: Sequence[Any]) -> bool:
    kinds = set(map(kind_of_constant, column))
    return len(kinds) == 1 and None not in kinds


def is_object(thing: Any) -> bool:
    """Whether a thing is an object of a plain class of Python, or a namedtuple."""
    if is_record(thing):
        return hasattr(type(thing), "_replace")
    kind: Any = type(thing)
    if kind.__module__.partition(".")[0] in _NOT_PLAIN:
        return False
    own = kind.__new__ is object.__new__ and kind.__getattribute__ is object.__getattribute__
    return own and not hasattr(kind, "__getattr__") and bool(names_of(thing))


def classes_in(thing: Any, levels: int = 3) -> set[type]:
    """The class of an object, and those of the objects that it holds; none for anything else."""
    if not levels or is_traced(thing) or not is_object(thing):
        return set()
    return {type(thing)}.union(*(classes_in(each, levels - 1) for each in held_in(thing)))


def is_named(name: str, kinds: Iterable[type]) -> bool:
    """Whether some class says that its objects have an attribute."""
    return any(hasattr(kind, name) or name in getattr(kind, "__dataclass_fields__", ()) for kind in kinds)


def is_of_fields(kind: type) -> bool:
    """Whether to make an object of a class does nothing but to set its fields: of a dataclass, or a namedtuple."""
    own = getattr(kind, "__init__", None)
    made = dataclasses.is_dataclass(kind) and getattr(own, "__qualname__", "") == f"{kind.__qualname__}.__init__"
    generated = made and getattr(getattr(own, "__code__", None), "co_filename", "") == "<string>"
    return (generated and not hasattr(kind, "__post_init__")) or hasattr(kind, "_make")


def held_in(thing: Any) -> list[Any]:
    """The values of the attributes of an object."""
    return [getattr(thing, name) for name in names_of(thing)]


def names_of(thing: Any) -> tuple[str, ...]:
    """The attributes of an object: those that are set."""
    if is_record(thing):
        return tuple(type(thing)._fields)
    slots = [name for kind in type(thing).__mro__ for name in _slots(kind) if hasattr(thing, name)]
    return (*slots, *getattr(thing, "__dict__", ()))


def _slots(kind: type) -> Sequence[str]:
    found = vars(kind).get("__slots__", ())
    return [name for name in ((found,) if isinstance(found, str) else found) if not name.startswith("__")]
