"""Containers and objects that a function puts in the place of others of their kind: ``STATE = {"n": STATE["n"] + 1}``.

What such a one holds is no place that was there before, so its numbers are looked at, and set, from outside.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import torch

from ....ops.runtime.primitives.named_tuples import is_record
from ....ops.runtime.user_code import attribute
from .whose import attributes_of, has_attributes, is_looked_into

MOST_LEVELS, MOST_ITEMS = 4, 64
_NO_PARTS = (str, bytes, torch.Tensor, np.ndarray, type, ModuleType, FunctionType)


def glimpse(value: Any, level: int = 0) -> Any:
    """What tells such a value from another one: the numbers and texts in it, and how many there are."""
    if type(value) in (int, float, bool, str) or isinstance(value, np.generic):
        return value
    parts = _parts(value) if level < MOST_LEVELS else None
    if parts is None:
        return type(value)
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
    if isinstance(value, _NO_PARTS) or not has_attributes(value) or not is_looked_into(type(value)):
        return None
    return dict(attributes_of(value))


def _like(value: Any, parts: dict[Any, Any]) -> Any:
    """A copy of a value with other parts; None where its class makes none."""
    items = list(parts.values())
    try:
        if is_record(value):
            return attribute(type(value), "_make")(items)
        if isinstance(value, dict | list | tuple):
            return type(value)(parts if isinstance(value, dict) else items)
        found = copy.copy(value)
        attributes_of(found).update(parts)  # type: ignore[attr-defined]  # also of a frozen dataclass
    except Exception:  # the class of a user takes what it likes
        return None
    return found
