"""What the sides of a choice load: constants, and variables, whose values are there before Python takes a side."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

from ....proxies.base import is_traced

KINDS = (str, int, float, bool)
"""The types that a look-up gives, one in each choice."""

_CONSTANTS = ("LOAD_CONST", "RETURN_CONST")  # the second is of Python 3.12 and 3.13
_LOCALS = ("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_DEREF")
_MISSING = object()


@dataclass(frozen=True)
class Side:
    """One side.

    Attributes:
        load: the name of the instruction.
        what: the constant, or the name of the variable.
    """

    load: str
    what: Any

    @property
    def is_constant(self) -> bool:
        """Whether it loads a constant."""
        return self.load in _CONSTANTS

    def value(self, frame: FrameType) -> Any:
        """What it loads in a frame; an object of its own where a variable is not set, or is one of Python's."""
        if self.is_constant:
            return self.what
        return (frame.f_locals if self.load in _LOCALS else frame.f_globals).get(self.what, _MISSING)


def side_of(instruction: Any) -> Side | None:
    """The side that an instruction loads; None where it loads none, or something to call."""
    name, what = instruction.opname, instruction.argval
    if name in _CONSTANTS:
        return Side(name, what) if type(what) in KINDS and not is_traced(what) else None
    called = name == "LOAD_GLOBAL" and sys.version_info >= (3, 11) and (instruction.arg or 0) & 1
    return Side(name, what) if name in (*_LOCALS, "LOAD_GLOBAL") and not called else None


def values_of(sides: Sequence[Side], frame: FrameType) -> list[Any] | None:
    """What sides load in a frame, if a look-up can stand for them: numbers or texts of one type."""
    found = [side.value(frame) for side in sides]
    kinds = {type(getattr(each, "concrete", None)) if is_traced(each) else type(each) for each in found}
    return found if len(kinds) == 1 and kinds <= set(KINDS) else None
