"""What the sides of a choice are made of: numbers and texts that are there before Python takes a side."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import FrameType
from typing import Any

from .....ops.runtime.user_code import user_line
from ....proxies.base import is_traced
from ....proxies.lists import TracedList
from ....proxies.make import TracedOptional

KINDS = (str, int, float, bool)
"""The types that a look-up gives, one in each choice."""

_LOCALS = ("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_DEREF")
_MISSING = object()

_mixed: ContextVar[set[str] | None] = ContextVar("mixed", default=None)


@contextmanager
def noting_mixed(lines: set[str]) -> Iterator[None]:
    """While it is entered, choices between an int and a float, which keep the way of the example, note their lines."""
    token = _mixed.set(lines)
    try:
        yield
    finally:
        _mixed.reset(token)


def note_kinds(kinds: Iterable[Any]) -> None:
    """Takes note of a choice between an int and a float: their types, as those of its sides."""
    lines = _mixed.get()
    if lines is not None and set(kinds) == {int, float}:
        lines.add(str(user_line() or ""))


def kinds_of(value: Any) -> set[Any]:
    """The types of a number, a text or None, also of what run time decides: two of what may be None."""
    return {type(value.sample), type(None)} if type(value) is TracedOptional else {kind_of(value)}


def kind_of(value: Any) -> Any:
    """The type of a number or a text, also of one that run time decides; that of any other thing is none of `KINDS`."""
    if type(value) is TracedOptional:
        return None
    if not is_traced(value):
        return type(value)
    return None if type(value) is TracedList else type(getattr(value, "concrete", None))


@dataclass(frozen=True)
class SideLoad:
    """An instruction that loads a constant or a variable.

    Attributes:
        name: of the instruction.
        what: the constant, or the name of the variable.
    """

    name: str
    what: Any

    def value(self, frame: FrameType) -> Any:
        """What it loads in a frame; an object of its own where a variable is not set, or is one of Python's."""
        if self.name == "LOAD_CONST":
            return self.what
        return (frame.f_locals if self.name in _LOCALS else frame.f_globals).get(self.what, _MISSING)


def load_of(instruction: Any) -> SideLoad | None:
    """What an instruction loads: a constant number, text or None, or a variable, unless to call it; None for others."""
    name, what = instruction.opname, instruction.argval
    if name == "LOAD_CONST":
        return SideLoad(name, what) if type(what) in (*KINDS, type(None)) and not is_traced(what) else None
    called = name == "LOAD_GLOBAL" and sys.version_info >= (3, 11) and (instruction.arg or 0) & 1
    return SideLoad(name, what) if name in (*_LOCALS, "LOAD_GLOBAL") and not called else None
