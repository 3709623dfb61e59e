"""What many more calls leave in an object that changes from call to call, and what they may leave there.

That is larger numbers, longer lists, or, where it counts down, numbers far below zero. Time allows for some thousand
real calls, but these need no guess: an order that rotates, or bytes, are not known to count.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterable, Iterator
from functools import partial
from numbers import Number
from typing import Any

import numpy as np
import torch

from .contents.hidden import ARRAY, BUFFER, BYTEARRAY, ITERATOR, MOVED, PERMITS, POSITION, QUEUE
from .places import Location
from .rebound import with_numbers

MANY = 4096  # items or characters; a multiple of the size of every item of an array
MOST_AGED = 64  # each is given thousands of items
MOST_COUNTS = 8
MOST_NAMED, MOST_GROWN = 1 << 62, 1 << 15  # that code names and counts to; that a list is filled up to
SECONDS = 0.5  # for real calls: some thousands of a small function
_ROUND = (128, 256, 512, 1024, 100, 1000)  # counts that code may reach by a calculation, beside those that it names
Moves = list[tuple[Location, Any, Any]]  # places, keys, and what stands there


def moved(moving: Moves) -> Location | None:
    """The first of the places that a function moves on, so that its next call begins where this one ended.

    A buffer whose text stays is read, as a file is.
    """
    written = {id(place) for place, key, _ in moving if key == ""}
    read = [place for place, key, _ in moving if (place.name, key) == (BUFFER, POSITION) and id(place) not in written]
    return next((place for place, _, _ in moving if place.name in MOVED), next(iter(read), None))


def used_up(places: Iterable[Location]) -> Location | None:
    """The first of some places that differ from which calls take things that nothing gives back.

    The first runs of a trace may have reached its end, after which calls leave it as it is.
    """
    return next((place for place in places if place.name == ITERATOR or _has_less(place)), None)


def _has_less(place: Location) -> bool:
    return place.name in (QUEUE, PERMITS) and place.read()[""] < place.before[""]


def in_later_states(moving: Moves, before: Moves, known: Iterable[Any]) -> Iterator[None]:
    """Yields for many calls in a row, and then for one after each time that it sets what such calls change.

    Numbers and lengths are first set to what they may be just before calls in which they reach a number that the code
    names, as in ``n % 100 == 0``; in the end everything is set to what very many calls may leave.

    Args:
        moving: what the last call changed: places, keys, and what stood there after it.
        before: what had changed before that call.
        known: the numbers and texts that the code names.
    """
    if not moving:
        return
    until = time.perf_counter() + SECONDS
    for _ in range(MANY):
        yield
        if time.perf_counter() > until:
            break
    earlier = {(id(place), key): value for place, key, value in before}
    for count in _counts_before(known):
        for place, key, _ in moving[:MOST_AGED]:
            _count_to(place, key, count, grows=(id(place), key) not in earlier)
        yield
    for place, key, now in moving[:MOST_AGED]:
        then = earlier.get((id(place), key))
        down = isinstance(now, int | float) and isinstance(then, int | float) and now < then
        _age(place, key, then, grows=(id(place), key) not in earlier, down=down)
    yield


def _counts_before(known: Iterable[Any]) -> list[int]:
    named = sorted({value for value in known if type(value) is int and 1 < value <= MOST_NAMED})
    return [value - back for value in dict.fromkeys([*named[:MOST_COUNTS], *_ROUND]) for back in (2, 1, 0)]


def _count_to(place: Location, key: Any, count: int, grows: bool) -> None:
    content = place.read()
    if place.name in (ARRAY, BYTEARRAY):
        if (filled := _filled(place.holder, count)) is not None:
            place.attempt({key: filled})
    elif grows:
        if key in content and len(content) < count <= MOST_GROWN:
            place.attempt(_grown(content, key, count - len(content)))
    elif (other := _all_counted(count, content.get(key))) is not None:
        place.attempt({**content, key: other})


def _all_counted(count: int, now: Any) -> Any:
    """A value with a count in place of each number; None where it has none, or holds none that is so large."""
    is_array = isinstance(now, np.ndarray) and np.issubdtype(now.dtype, np.number)
    is_tensor = isinstance(now, torch.Tensor) and now.dtype is not torch.bool
    if not is_array and not is_tensor:
        return with_numbers(now, partial(_counted, count))
    try:
        return np.full_like(now, count) if is_array else torch.full_like(now.detach(), count)
    except (OverflowError, RuntimeError):
        return None


def _counted(count: int, now: Any) -> Any:
    return float(count) if type(now) is float else count


def _filled(items: Any, count: int) -> bytes | None:
    """The bytes of an array or a bytearray in which each item is a number; None where it takes no such number."""
    try:
        made = bytearray([count]) if isinstance(items, bytearray) else array(items.typecode, [count])
    except (TypeError, OverflowError, ValueError):
        return None
    return bytes(made * len(items))


def _many_bytes(items: Any, then: bytes | None, now: bytes) -> bytes:
    """What more calls may leave in an array or a bytearray: large numbers, or many more where a call adds some."""
    if then is not None and len(then) == len(now):
        return b"\x7f" * len(now)
    return now + now[-getattr(items, "itemsize", 1) :] * MOST_GROWN


def _age(place: Location, key: Any, then: Any, grows: bool, down: bool = False) -> None:
    """Sets what stands under a key of a place to what many more calls may leave there.

    Args:
        place: the place.
        key: what changes in it.
        then: what stood there before the last call.
        grows: whether the last call brought the key, so that more calls bring more.
        down: whether the last call left a smaller number there.
    """
    content = place.read()
    if key not in content:
        if list(content) == list(range(len(content))):  # each call takes an item off a list
            place.attempt({})
        return
    if place.name in (ARRAY, BYTEARRAY):
        place.attempt({key: _many_bytes(place.holder, then, content[key])})
    elif down:
        if (other := _used_up(content[key])) is not None:
            place.attempt({**content, key: other})
    elif grows:
        place.attempt(_grown(content, key))
    elif (other := _later(content[key])) is not None:
        place.attempt({**content, key: other})


def _grown(content: dict[Any, Any], key: Any, more: int = MANY) -> dict[Any, Any]:
    """The content of a list, a set or a dict with more of what stands under the key."""
    value, size = content[key], len(content)
    numbers = range(size, size + more)
    if list(content) == list(range(size)):  # of a list
        other = _later(value)
        return {**content, key: value if other is None else other, **dict.fromkeys(numbers, value)}
    if key == id(value):  # of a set
        return {**content, **{("more", number): number for number in numbers}}
    if type(key) is int:
        last = max(each for each in content if type(each) is int)
        return {**content, **dict.fromkeys(range(last + 1, last + 1 + more), value)}
    return {**content, **{f"{key} {number}": value for number in numbers}} if type(key) is str else content


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
        case str() | bytes():
            text: Any = value
            return text + text[-1:] * MANY
        case list():
            return [*(with_numbers(value, _later) or value), *value[-1:] * MANY]
    return with_numbers(value, _later)


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
