"""Containers of run time that hold None somewhere, as data decides: what is taken out of one may be None."""

from __future__ import annotations

from typing import Any

from ..base import is_traced
from ..dicts import TracedDict
from ..lists import TracedList
from ..make import TracedOptional

_TELL_NOTHING = ("len", "eq", "ne", "bool", "contains", "keys", "format", "json_dumps")
"""What gives nothing of what a dict holds."""
_FILLS = ("with_entry", "dict")


def holds_none(thing: Any) -> bool:
    """Whether a thing is None, or holds it somewhere, or may do so as data decides."""
    if is_traced(thing):
        return type(thing) is TracedOptional or marked(thing)
    if isinstance(thing, tuple | list | dict):
        return any(map(holds_none, thing.values() if isinstance(thing, dict) else thing))
    return thing is None


def marked(thing: Any) -> bool:
    """Whether a container of run time may hold None."""
    if type(thing) is TracedList:
        return thing.with_none is not None
    return issubclass(type(thing), TracedDict) and thing.with_none


def gives_none_in_it(name: str, args: tuple[Any, ...]) -> bool:
    """Whether an operator of Python gives what may be None, or holds it, by the dict that it asks or fills."""
    if name in _FILLS:
        return any(map(holds_none, args))
    return name not in _TELL_NOTHING and any(issubclass(type(arg), TracedDict) and arg.with_none for arg in args)
