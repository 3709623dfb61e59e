"""Records in outputs: torch's return types, the user's namedtuples without their class, and OrderedDicts; torch.Size.

A dataclass counts as the namedtuple of its fields: its class, with the methods that it may have, is in no archive.

An archive holds the name of the type and those of its fields. Torch's own types are found by name; for any other one a
namedtuple class with this name and these fields is made once. The fields of an OrderedDict are its keys.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import torch

from ...graph.errors import GraphError
from ...graph.graph import Record
from ...graph.guards import is_plain_name

_TORCH = "torch.return_types."
_ORDERED = "collections.OrderedDict"
_LIVE: dict[tuple[str, tuple[str, ...]], Callable[..., Any]] = {}  # classes that this process met while recording


def is_record(value: Any) -> bool:
    """Whether a value is a named tuple of either kind."""
    return isinstance(value, tuple) and (hasattr(type(value), "_fields") or _is_torch(value))


def _is_torch(value: Any) -> bool:
    return type(value).__module__ == "torch.return_types"


def fields_of(value: Any) -> tuple[str, ...]:
    """The names of the fields of a named tuple, in their order."""
    kind = type(value)
    if not _is_torch(value):
        return tuple(kind._fields)
    fields = (n for n in dir(kind) if not n.startswith("_") and n.isidentifier())
    return tuple(sorted((n for n in fields if n not in dir(tuple) and not n.startswith("n_")), key=_position(value)))


def to_record(value: Any, items: tuple[Any, ...]) -> Record:
    """The record of a named tuple, with its items replaced."""
    kind, fields = type(value), fields_of(value)
    if _is_torch(value):
        return Record(_TORCH + kind.__name__, fields, items)
    _LIVE[kind.__name__, fields] = kind
    return Record(kind.__name__, fields, items)


def as_named_tuple(value: Any) -> Any:
    """The namedtuple of a dataclass's fields; None for anything else, and for a field whose name begins with `_`."""
    if isinstance(value, type | Mapping) or not dataclasses.is_dataclass(value):
        return None
    names = tuple(field.name for field in dataclasses.fields(value))
    kind = type(value).__name__
    if not names or any(name.startswith("_") or not is_plain_name(name) for name in (*names, kind)):
        return None
    return _namedtuple(kind, names)(*(getattr(value, name) for name in names))


def is_ordered(value: Any) -> bool:
    """Whether a value is an OrderedDict that an archive can hold."""
    return type(value) is OrderedDict and all(type(key) is str for key in value)


def to_ordered(keys: tuple[str, ...], items: tuple[Any, ...]) -> Record:
    """The record of an OrderedDict."""
    return Record(_ORDERED, keys, items)


def _position(value: Any) -> Callable[[str], int]:
    return lambda name: next((i for i, item in enumerate(value) if item is getattr(value, name)), len(value))


def map_values(function: Callable[[Any], Any], tree: Any, named: Callable[[Any, tuple[Any, ...]], Any]) -> Any:
    """A copy of a tree of Python's containers with every leaf replaced; a mapping becomes a dict.

    Args:
        function: returns the replacement of a leaf.
        tree: of tuples, named tuples, lists and mappings.
        named: builds the copy of a named tuple from the tuple and its new items.
    """

    def mapped(tree: Any) -> Any:
        if is_record(tree):
            return named(tree, tuple(map(mapped, tree)))
        if isinstance(tree, tuple | list):
            return type(tree)(map(mapped, tree))
        if isinstance(tree, Mapping):
            return {key: mapped(item) for key, item in tree.items()}
        return function(tree)

    return mapped(tree)


def as_size(items: tuple[Any, ...]) -> torch.Size:
    """The `torch.Size` of a result.

    Raises:
        GraphError: an item is no integer.
    """
    try:
        return torch.Size(items)
    except (TypeError, ValueError) as error:
        raise GraphError("not a torch.Size", got=repr(items)[:80], expected="integers") from error


def record_factory(record: Record) -> Callable[..., Any]:
    """The function that builds the named tuple from its items, given by position.

    Raises:
        GraphError: a name or a field is not an identifier, a key comes twice, or this torch has no such return type.
    """
    if record.name == _ORDERED:
        if len(set(record.fields)) < len(record.fields):
            raise GraphError("an OrderedDict has a key twice", got=repr(record.fields))
        return lambda *items: OrderedDict(zip(record.fields, items, strict=True))
    if record.name.startswith(_TORCH):
        return _torch_type(record.name.removeprefix(_TORCH))
    return _LIVE.get((record.name, record.fields)) or _namedtuple(record.name, record.fields)


def _torch_type(name: str) -> Callable[..., Any]:
    kind = getattr(torch.return_types, name, None) if name.isidentifier() else None
    if not isinstance(kind, type) or not issubclass(kind, tuple):
        raise GraphError(f"this torch has no return type {name!r}")
    return lambda *items: kind(items)


@lru_cache(maxsize=4096)
def _namedtuple(name: str, fields: tuple[str, ...]) -> Callable[..., Any]:
    try:
        if not all(map(is_plain_name, (name, *fields))):
            raise ValueError("a name is not a plain identifier")
        return _sent_by_fields(namedtuple(name, fields))
    except (ValueError, TypeError) as error:
        raise GraphError(f"not a named tuple: {error}", got=repr((name, fields))) from error


def _sent_by_fields(kind: Any) -> Callable[..., Any]:
    """A class of records that pickles by its fields: no module has it, by which another process could find it."""
    kind.__reduce__ = _reduced
    return kind  # type: ignore[no-any-return]  # a class


def _reduced(record: Any) -> tuple[Any, ...]:
    """What copies and workers make a record of."""
    return _made_anew, (type(record).__name__, record._fields, tuple(record))


def _made_anew(name: str, fields: tuple[str, ...], items: tuple[Any, ...]) -> Any:
    return _namedtuple(name, fields)(*items)
