"""Objects of Python whose content is neither items nor attributes: buffers, context variables, iterators.

An iterator cannot be set back. So of one it is only known whether it moved, and a function that moves one which it
keeps goes on in its next call where this one ended.
"""

from __future__ import annotations

import operator
from array import array
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from io import BytesIO, IOBase, StringIO
from itertools import count, repeat
from types import GeneratorType
from typing import Any

from ...ops.runtime.interrupts.unheard import Unheard

MOST_ITEMS, MOST_BYTES = 1000, 1 << 20
Access = tuple[str, Callable[[], dict[Any, Any]], Callable[[dict[Any, Any]], None]]


def access(thing: Any) -> Access | None:
    """A name for an object, and functions that read and set its content; None for other kinds."""
    match thing:
        case bytearray() if len(thing) <= MOST_BYTES:
            return "a bytearray", lambda: {"": bytes(thing)}, lambda items: _refill(thing, items[""])
        case array() if len(thing) * thing.itemsize <= MOST_BYTES:
            return "an array", lambda: {"": thing.tobytes()}, lambda items: _refill(thing, items[""])
        case StringIO() | BytesIO() if not thing.closed and thing.tell() <= MOST_BYTES:
            return "a buffer", lambda: _written(thing), lambda items: _write(thing, items)
        case ContextVar():
            return f"context variable {thing.name!r}", lambda: _value(thing), lambda items: _set(thing, items)
    if isinstance(thing, Iterator) and not isinstance(thing, IOBase) and type(thing).__module__ in _OF_PYTHON:
        return ITERATOR, lambda: {"": mark(thing)}, lambda items: None
    return None


ITERATOR = "an iterator"
_OF_PYTHON = ("builtins", "itertools")


def mark(thing: Any) -> Any:
    """What tells how far an iterator is: plain numbers, texts and ids; for other things the things themselves."""
    if isinstance(thing, GeneratorType):
        frame = thing.gi_frame
        return None if frame is None else (frame.f_lasti, _marks(frame.f_locals.values()))
    if isinstance(thing, count | repeat):
        return repr(thing)
    if isinstance(thing, Iterator):
        left = operator.length_hint(thing, -1)
        return left if left >= 0 else _reduced(thing)
    if isinstance(thing, tuple | list):
        return _marks(thing)
    return thing if isinstance(thing, int | float | str | bool | None) else id(thing)


def _marks(things: Any) -> tuple[Any, ...]:
    return tuple(mark(thing) for thing, _ in zip(things, range(MOST_ITEMS), strict=False))


def _reduced(thing: Any) -> Any:
    with Unheard():  # Python 3.14 copies no iterators
        try:
            return _marks(thing.__reduce__()[1:])
        except (TypeError, AttributeError):
            return id(thing)


def _refill(thing: Any, data: bytes) -> None:
    del thing[:]
    if isinstance(thing, bytearray):
        thing.extend(data)
    else:
        thing.frombytes(data)


def _written(thing: Any) -> dict[Any, Any]:
    return {} if thing.closed else {"": thing.getvalue()}


def _write(thing: Any, items: dict[Any, Any]) -> None:
    if items and not thing.closed:
        thing.seek(0)
        thing.truncate()
        thing.write(items[""])


def _value(variable: ContextVar[Any]) -> dict[Any, Any]:
    try:
        return {"": variable.get()}
    except LookupError:
        return {}


def _set(variable: ContextVar[Any], items: dict[Any, Any]) -> None:
    if items:
        variable.set(items[""])
