"""Dataclasses of the user's in a block of plain Python: real ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from .made_classes import is_name, new_class

_OPTIONS = ("init", "repr", "eq", "order", "unsafe_hash", "frozen", "slots")
OF_FIELDS = ("init", "repr", "compare", "hash", "kw_only")
"""What is said of a field."""


def field_of(*has: Any, **said: Any) -> Any:
    """A field of a dataclass.

    Args:
        has: nothing, "default" and its value, or "default_factory" and what makes it.
        said: the rest of what `dataclasses.field` takes, and whether it is a parameter alone.

    Raises:
        TypeError: it is no field.
    """
    parameter = said.pop("parameter", False)
    if {*said} - {*OF_FIELDS} or has[:1] not in ((), ("default",), ("default_factory",)) or len(has) not in (0, 2):
        raise TypeError("a field of a dataclass is malformed")
    return dataclasses.InitVar if parameter else object, dataclasses.field(**said, **dict([has] if has else []))


def data_class(
    name: str,
    qualname: str,
    bases: Sequence[Any],
    parts: Mapping[str, Any],
    fields: Mapping[str, Any],
    options: Mapping[str, bool],
    abstract: Sequence[str] = (),
) -> Any:
    """A dataclass.

    Args:
        name: as that of `new_class`.
        qualname: the same.
        bases: the same.
        parts: the same.
        fields: its own fields, by their names.
        options: what `dataclasses.dataclass` is told.
        abstract: as that of `new_class`.

    Raises:
        TypeError: it is none that a block may have.
    """
    if not isinstance(fields, dict) or not all(map(is_name, fields)) or {*options} - {*_OPTIONS}:
        raise TypeError("a dataclass of a block is malformed")
    pairs = {each: pair for each, pair in fields.items() if isinstance(pair, tuple) and len(pair) == 2}
    if {*pairs} != {*fields} or not all(isinstance(pair[1], dataclasses.Field) for pair in pairs.values()):
        raise TypeError("a dataclass of a block has fields of `field_of`")
    made = new_class(name, qualname, bases, {k: v for k, v in parts.items() if k != "__slots__"})
    made.__annotations__ = {each: kind for each, (kind, _) in pairs.items()}
    for each, (_, field) in pairs.items():
        setattr(made, each, field)
    found: Any = dataclasses.dataclass(**options)(made)
    if abstract:
        found.__abstractmethods__ = frozenset(map(str, abstract))
    return found


def is_generated(kind: Any, name: str) -> bool:
    """Whether a method of a class is one that `dataclass` has written."""
    code = getattr(getattr(getattr(kind, name, None), "__wrapped__", getattr(kind, name, None)), "__code__", None)
    return code is not None and code.co_filename == "<string>"
