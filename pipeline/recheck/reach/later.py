"""What many more calls may leave in an object that changes from call to call: larger numbers, longer lists.

Or, where it counts down, numbers far below zero.
"""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np
import torch

from .places import Location

MANY = 4096  # items or characters; a multiple of the size of every item of an array


def age(place: Location, key: Any, grows: bool, down: bool = False) -> None:
    """Sets what stands under a key of a place to what many more calls may leave there.

    Args:
        place: the place.
        key: what changes in it.
        grows: whether the last call brought the key, so that more calls bring more.
        down: whether the last call left a smaller number there.
    """
    content = place.read()
    if key not in content:
        if list(content) == list(range(len(content))):  # each call takes an item off a list
            place.write({})
        return
    if down:
        if (other := _used_up(content[key])) is not None:
            place.write({**content, key: other})
    elif grows:
        place.write(_grown(content, key))
    elif (other := _later(content[key])) is not None:
        place.write({**content, key: other})


def _grown(content: dict[Any, Any], key: Any) -> dict[Any, Any]:
    """The content of a list, a set or a dict with more of what stands under the key."""
    value = content[key]
    if list(content) == list(range(len(content))):  # of a list
        last = _later(value)
        return {**content, key: value if last is None else last, **dict.fromkeys(range(len(content), MANY), value)}
    if key == id(value):  # of a set
        return {**content, **{("more", number): number for number in range(MANY)}}
    if type(key) is int:
        return {**content, **dict.fromkeys(range(key + 1, key + MANY), value)}
    return {**content, **{f"{key} {number}": value for number in range(MANY)}} if type(key) is str else content


def _later(value: Any) -> Any:
    """A value that many more calls may leave in place of this one; None for kinds of which that is not known."""
    match value:
        case None | bool() | np.bool_():
            return None
        case np.generic():
            return _later_number(value)
        case np.ndarray():
            return _later_array(value)
        case Number():
            return value * 7 + 1000  # type: ignore[operator]  # numbers of all kinds can be multiplied
        case torch.Tensor():
            return None if value.dtype is torch.bool else value.detach() * 7 + 1000
        case str() if value.isdecimal():  # a number is counted in it
            return str(int(value) * 7 + 1000)
        case str() | bytes() | list():
            more: Any = value
            return more + more[-1:] * MANY
        case tuple():
            return tuple(item if (other := _later(item)) is None else other for item in value)
    return None


def _later_number(value: Any) -> Any:
    with np.errstate(all="ignore"):
        return type(value)(value * 7 + 1000) if np.issubdtype(type(value), np.number) else None


def _later_array(value: np.ndarray[Any, Any]) -> Any:
    if value.dtype.names or value.dtype == bool:
        return None if value.dtype == bool else np.frombuffer(b"\x7f" * value.nbytes, value.dtype).reshape(value.shape)
    with np.errstate(all="ignore"):
        return (value * 7 + 1000).astype(value.dtype) if np.issubdtype(value.dtype, np.number) else None


def _used_up(value: Any) -> Any:
    """A number that many more calls may leave where each takes something away."""
    if isinstance(value, np.number):
        return None if isinstance(value, np.unsignedinteger) else _later_number(-abs(value) - 300)
    return -(abs(value) * 7 + 1000) if isinstance(value, int | float) and not isinstance(value, bool) else None
