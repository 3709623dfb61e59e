"""Tuples with named fields, and members of Enums, in a block of plain Python."""

from __future__ import annotations

import enum
import functools
from collections import namedtuple
from collections.abc import Sequence
from enum import IntEnum
from typing import Any

from ..block_refusals import refuse
from .things import Thing, UserKind


@functools.lru_cache(256)
def record_class(name: str, fields: Sequence[str]) -> Any:
    """The class of tuples with named fields that has these."""
    return namedtuple(name, fields)


def record(name: str, fields: Sequence[str], values: Sequence[Any]) -> Any:
    """A tuple with named fields."""
    return record_class(name, fields)(*values)


def is_record(thing: Any, name: str) -> bool:
    """Whether a thing is a tuple with a field of some name."""
    return isinstance(thing, tuple) and name in getattr(type(thing), "_fields", ())


class EnumMember(Thing):
    """A member of an Enum, which equals itself alone."""

    __slots__ = ()

    def get(self, name: str) -> Any:
        """Its name or its value.

        Raises:
            RefusedError: something else is asked for, as a method of its class.
        """
        if name not in self.fields:
            refuse(f"a block of plain Python asks a member of {self.kind.name} for {name!r}", expected="name or value")
        return self.fields[name]

    def __copy__(self) -> Thing:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Thing:
        return self


def member(kind: str, name: str, value: Any) -> EnumMember:
    """A member of an Enum."""
    found = UserKind(kind, (), {}, {}, {}, {}, None, EnumMember)
    return _named(found.name)(found, {"name": name, "value": value})


@functools.lru_cache(256)
def _named(kind: str) -> type[EnumMember]:
    """The class of the members of an Enum, whose name Python's errors say."""
    return type(kind, (EnumMember,), {"__slots__": ()})


@functools.lru_cache(256)
def _counting(base: str, kind: str, members: Sequence[Any]) -> Any:
    """The class of an Enum whose members are numbers or texts.

    Raises:
        TypeError: it is none.
    """
    pairs = [*zip(members[::2], members[1::2], strict=True)]
    bases: dict[str, tuple[Any, type]] = {"IntEnum": (IntEnum, int), "StrEnum": (getattr(enum, "StrEnum", None), str)}
    of, plain = bases[base]
    if of is None or not kind.isidentifier() or any(type(value) is not plain for _, value in pairs):
        raise TypeError("an Enum has other members than numbers or texts")
    if not all(type(name) is str and name.isidentifier() and name[:1] != "_" for name, _ in pairs):
        raise TypeError("the name of a member is no identifier")
    return of(kind, pairs)


def counting_member(base: str, kind: str, name: str, *members: Any) -> Any:
    """A member of an IntEnum or a StrEnum, by its name."""
    return _counting(base, kind, members)[name]


def member_of_value(base: str, kind: str, value: Any, *members: Any) -> Any:
    """``Level(value)`` of such an Enum."""
    return _counting(base, kind, members)(value)
