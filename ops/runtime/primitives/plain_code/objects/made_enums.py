"""Enums and tuples with named fields of the user's in a block of plain Python: real ones."""

from __future__ import annotations

import enum
from collections import namedtuple
from collections.abc import Mapping, Sequence
from typing import Any

from .made_classes import MODULE, is_name, require_parts

BASES: Mapping[str, tuple[Any, ...]] = {
    "Enum": (enum.Enum,), "IntEnum": (enum.IntEnum,), "StrEnum": (getattr(enum, "StrEnum", None),),
    "str": (str, enum.Enum), "int": (int, enum.Enum), "float": (float, enum.Enum),
}  # fmt: skip
"""The bases of an Enum, by what stands for them in a block."""
_VALUES = (bool, int, float, complex, str, bytes, type(None))
_TUPLES = ("_replace", "_asdict", "_fields")


class MadeEnum(enum.EnumMeta):
    """The class of the Enums of blocks."""


def enum_class(name: str, qualname: str, base: str, members: Mapping[str, Any], parts: Mapping[str, Any]) -> Any:
    """An Enum.

    Args:
        name: its name.
        qualname: the one with what it stands in.
        base: that of `BASES`.
        members: their values by their names.
        parts: methods and properties by their names.

    Raises:
        TypeError: it is none that a block may have.
    """
    bases = BASES[base]
    if not is_name(name) or type(qualname) is not str or None in bases or not isinstance(members, dict):
        raise TypeError("an Enum of a block has a name, a base and members")
    if not all(is_name(each) and each[:1] != "_" and is_value(value) for each, value in members.items()):
        raise TypeError("a member of an Enum has a name and a value")
    held: Any = MadeEnum.__prepare__(name, bases)
    for key, each in {**require_parts(parts), "__qualname__": qualname, **members}.items():
        held[key] = each
    return MadeEnum(name, bases, held)


def is_value(value: Any) -> bool:
    """Whether a member of an Enum may have a value: a number, a text, or a tuple of them."""
    return type(value) in _VALUES or (type(value) is tuple and all(map(is_value, value)))


def member(kind: Any, name: str) -> Any:
    """A member of an Enum, by its name.

    Raises:
        TypeError: it is none of an Enum of the block.
    """
    if type(kind) is not MadeEnum:
        raise TypeError("a member is one of an Enum")
    return kind[name]


def is_member(thing: Any) -> bool:
    """Whether a thing is a member of an Enum of the block."""
    return type(type(thing)) is MadeEnum


def has_part(kind: Any, name: str) -> bool:
    """Whether an Enum has a member, a method or a property of a name."""
    return name in kind.__members__ or (name in vars(kind) and name[:1] != "_")


def record_class(
    name: str,
    qualname: str,
    fields: Sequence[str],
    defaults: Sequence[Any] = (),
    parts: Mapping[str, Any] | None = None,
) -> Any:
    """A class of tuples with named fields.

    Args:
        name: its name.
        qualname: the one with what it stands in.
        fields: their names.
        defaults: those of the last fields.
        parts: methods and properties by their names.

    Raises:
        TypeError: it is none that a block may have.
    """
    if not is_name(name) or type(qualname) is not str or not all(map(is_name, fields)):
        raise TypeError("a tuple with named fields has names")
    make: Any = namedtuple
    made = make(name, fields, defaults=defaults)
    made.__qualname__ = qualname
    made.__module__ = MODULE
    made.__parts__ = frozenset(parts or ())
    for each, part in require_parts(parts or {}).items():
        setattr(made, each, part)
    return made


def record(kind: Any, values: Sequence[Any]) -> Any:
    """A tuple with named fields.

    Raises:
        TypeError: it is none of the block.
    """
    if not hasattr(kind, "__parts__"):
        raise TypeError("a tuple with named fields has a class")
    return kind(*values)


def is_record(thing: Any, name: str) -> bool:
    """Whether a thing is a tuple with a field or a method of some name, or a class of such tuples."""
    kind: Any = thing if isinstance(thing, type) else type(thing)
    if "__parts__" not in vars(kind):
        return False
    return name in kind._fields or name in kind.__parts__ or name in _TUPLES or (kind is thing and name == "_make")
