"""What the rounds of a loop reach outside of the loop: a graph runs their operators, and not what they do to objects.

A round is recorded once for each way through it. Where it counts in an attribute, a closure or a list that a function
knows, the next round would go on from there. Recordings and replays of a few rounds need not show it, as of a limit
that is reached later: so what a round changes is compared with what was there before the loop.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dis import get_instructions
from functools import partial
from inspect import CO_OPTIMIZED
from types import CodeType, FrameType
from typing import Any

from ....ops.runtime.user_code import OURS, codes_in, is_users, names_in
from ...proxies.base import is_traced
from ...proxies.sets import TracedSet
from ...recheck.reach.objects import Objects
from ...recheck.reach.places import Location

MOST_REACHED = 5000
_CACHING, _INDEXES = ("SingleBlockManager", "BlockManager", "NumpyBlock", "ExtensionBlock"), ("Index", "RangeIndex")
"""Where pandas keeps what it found out about a constant table; an index itself never changes but for its name."""
_Variable = tuple[str, int, str, str]
"""A variable in a cell: the file, the first line and the name of a function, and its own name."""


class RoundsReach:
    """The objects that are reached from the code that asks for the items, and from the functions that it is given.

    Args:
        lists: what rounds fill or carry: lists, dicts and sets among them are those of the recording.
    """

    def __init__(self, lists: Iterable[Any]) -> None:
        frames = list(_asking(sys._getframe(1)))
        known = [each for each in lists if type(each) is list or isinstance(each, dict | set)]
        self.objects = Objects(tuple(_held_by(frames)), MOST_REACHED, known)
        own = set(_own_variables(frames[-1].f_code))
        self.cells = {id(cell) for function in self.objects.functions for cell in _cells(function, own)}

    def changed(self) -> str:
        """The name of a place that is another one than before; empty where there is none."""
        places = (place for place, key in self.objects.changes() if not _is_cached(place, key))
        return next((place.name for place in places if not self._is_own(place.read)), "")

    def _is_own(self, read: Any) -> bool:
        """Whether a place is a variable that the code of the loop sets itself: it knows what it carries."""
        return type(read) is partial and len(read.args) == 1 and id(read.args[0]) in self.cells


def _is_cached(place: Location, key: Any) -> bool:
    """Whether a change is that pandas found out something about a constant table."""
    return key == "_cache" if place.name in _CACHING else place.name in _INDEXES and "name" not in str(key)


def _asking(frame: FrameType | None) -> Iterator[FrameType]:
    """The frames up to that of the user's code which asks for the items of a loop."""
    while frame is not None:
        yield frame
        if is_users(frame.f_code.co_filename):
            return
        frame = frame.f_back


def _held_by(frames: Iterable[FrameType]) -> Iterator[Any]:
    """What the code of some frames may use: of ours, the functions of the user's that it calls."""
    for frame in frames:
        held = _variables(frame)
        if frame.f_code.co_filename.startswith(OURS):
            held = list(filter(callable, held))
        else:
            held += [frame.f_globals[name] for name in names_in(frame.f_code) if name in frame.f_globals]
        yield from (each for each in held if not is_traced(each) and type(each) is not TracedSet)


def _variables(frame: FrameType) -> list[Any]:
    """The values of a frame's variables, which a copy that Python keeps with the frame holds no longer."""
    variables = frame.f_locals
    found = list(variables.values())
    if type(variables) is dict and variables is not frame.f_globals and frame.f_code.co_flags & CO_OPTIMIZED:
        variables.clear()
    return found


def _own_variables(code: CodeType) -> Iterator[_Variable]:
    """The variables in cells, of functions defined in some code, that this code sets and no other does."""
    inner = [each for each in codes_in(code) if each is not code]
    stored, elsewhere = set(_stored(code)), {name for each in inner for name in _stored(each)}
    for each in inner:
        for name in stored - elsewhere:
            yield each.co_filename, each.co_firstlineno, each.co_name, name


def _stored(code: CodeType) -> Iterator[str]:
    yield from (each.argval for each in get_instructions(code) if each.opname == "STORE_DEREF")


def _cells(function: Any, variables: set[_Variable]) -> Iterator[Any]:
    code = function.__code__
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
        if (code.co_filename, code.co_firstlineno, code.co_name, name) in variables:
            yield cell
