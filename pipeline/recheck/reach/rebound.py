"""Containers and objects that a function puts in the place of others of their kind: ``STATE = {"n": STATE["n"] + 1}``.

What such a one holds is no place that was there before, so its numbers are looked at, and set, from outside.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from types import CellType, FunctionType, ModuleType
from typing import Any

import numpy as np
import torch

from ....ops.runtime.primitives.named_tuples import is_record
from ....ops.runtime.user_code import attribute
from .places import content_of, own_attributes
from .whose import attributes_of, has_attributes, is_looked_into, is_users_module, is_users_own

MOST_LEVELS, MOST_ITEMS = 4, 64
_NO_PARTS = (str, bytes, torch.Tensor, np.ndarray, type, ModuleType, FunctionType)


def glimpse(value: Any, level: int = 0) -> Any:
    """What tells such a value from another one: the numbers and texts in it, and how many there are."""
    if type(value) in (int, float, bool, str) or isinstance(value, np.generic):
        return value
    parts = _parts(value) if level < MOST_LEVELS else None
    if parts is None:
        return type(value)
    if isinstance(value, type):
        parts["__mro__"] = len(value.__mro__)
    elif isinstance(value, FunctionType):
        parts["__code__"] = hash(value.__code__)
    return (
        type(value),
        len(parts),
        tuple((repr(key)[:40], glimpse(parts[key], level + 1)) for key in [*parts][:MOST_ITEMS]),
    )


def with_numbers(value: Any, change: Callable[[Any], Any], level: int = 0) -> Any:
    """A copy in which something is made of each number; None where there is none."""
    if isinstance(value, bool | np.bool_):
        return None
    if isinstance(value, int | float | np.number):
        return change(value)
    parts = _parts(value) if level < MOST_LEVELS else None
    if parts is None or len(parts) > MOST_ITEMS:
        return None
    made = {key: with_numbers(part, change, level + 1) for key, part in parts.items()}
    if all(part is None for part in made.values()):
        return None
    return _like(value, {key: parts[key] if part is None else part for key, part in made.items()})


def _parts(value: Any) -> dict[Any, Any] | None:
    """What a value holds, by keys, places or names; None where it is of another kind."""
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, list | tuple):
        return dict(enumerate(value))
    if isinstance(value, type) and is_users_module(value.__module__):
        return own_attributes(value)
    if isinstance(value, FunctionType) and is_users_own(value.__code__.co_filename):
        return _kept_by(value)
    if isinstance(value, _NO_PARTS) or not has_attributes(value) or not is_looked_into(type(value)):
        return None
    return dict(attributes_of(value))


def _kept_by(function: FunctionType) -> dict[Any, Any]:
    """What a function keeps: variables of outer functions, attributes, defaults."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    found = {name: item for name, cell in cells for item in content_of(cell).values()}
    return {**found, **vars(function), **dict(enumerate(function.__defaults__ or ()))}


def _function_like(function: FunctionType, parts: dict[Any, Any]) -> FunctionType:
    code, defaults = function.__code__, range(len(function.__defaults__ or ()))
    cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
    closure = tuple(CellType(parts[name]) if name in parts else cell for name, cell in cells)
    made = FunctionType(code, function.__globals__, code.co_name, tuple(parts[each] for each in defaults), closure)
    vars(made).update((name, parts[name]) for name in vars(function))
    return made


def _like(value: Any, parts: dict[Any, Any]) -> Any:
    """A copy of a value with other parts; None where its class makes none."""
    items = list(parts.values())
    try:
        if isinstance(value, type):
            body = {name: item for name, item in vars(value).items() if name not in ("__dict__", "__weakref__")}
            return type(value)(value.__name__, value.__bases__, body | parts)
        if isinstance(value, FunctionType):
            return _function_like(value, parts)
        if is_record(value):
            return attribute(type(value), "_make")(items)
        if isinstance(value, dict | list | tuple):
            return type(value)(parts if isinstance(value, dict) else items)
        found = copy.copy(value)
        attributes_of(found).update(parts)  # type: ignore[attr-defined]  # also of a frozen dataclass
    except Exception:  # the class of a user takes what it likes
        return None
    return found
