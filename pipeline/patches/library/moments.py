"""Other moments, in which a function is tried: other times on every clock, and other random numbers of the system.

A recording would freeze both. What other modules call is replaced for the thread that tries; what the function has
imported by name is replaced in its globals. The class of a date cannot be: that the function asks it is heard.
"""

from __future__ import annotations

import _random
import datetime
import hashlib
import os
import random
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from types import CodeType, FrameType, FunctionType
from typing import Any

from ....ops.graph.graph import SourceLine
from ....ops.lowering.patches.lock import Patched
from ....ops.runtime.interrupts.changes import Change
from ....ops.runtime.user_code import source_line
from ...recheck.mismatch import Mismatch
from ...recheck.reach.whose import is_users_own
from ..hooks import Hooks

_HOUR = 3600.0
MOMENTS = tuple(
    days * 24 * _HOUR + hours * _HOUR + 1037.377 for days, hours in ((400, 7), (141, 13), (-232, 19), (-53, 1))
)
"""By how many seconds the moments are later: in other years, months, days, hours, minutes and seconds."""


class _Here(threading.local):
    moment: int | None = None
    drawn = 0


_here = _Here()


def _added(plain: Callable[..., Any], scale: int = 1) -> Callable[..., Any]:
    """A clock that shows the time of the moment."""

    @wraps(plain)
    def clock(*args: Any, **kwargs: Any) -> Any:
        now = plain(*args, **kwargs)
        if _here.moment is None:
            return now
        later = MOMENTS[_here.moment] * scale
        return now + (int(later) if isinstance(now, int) else later)

    return clock


def _nanoseconds(plain: Callable[..., Any]) -> Callable[..., Any]:
    return _added(plain, 10**9)


def _given(at: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A function of `time` that takes the present one where none is given at a position."""

    def make(plain: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(plain)
        def shown(*args: Any) -> Any:
            if _here.moment is None or (len(args) > at and args[at] is not None):
                return plain(*args)
            now = time.time()  # of the moment
            structured = plain in (_PLAIN["asctime"], _PLAIN["strftime"])
            return plain(*args[:at], _PLAIN["localtime"](now) if structured else now)

        return shown

    return make


_PLAIN = {name: getattr(time, name) for name in ("asctime", "strftime", "localtime")}


def _bytes(plain: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(plain)
    def draw(count: int, *args: Any) -> Any:
        if _here.moment is None:
            return plain(count, *args)
        _here.drawn += 1
        return hashlib.shake_128(b"%d %d" % (_here.moment, _here.drawn)).digest(count)

    return draw


def _below(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Draws of an integer: the least, the largest, and others."""

    @wraps(plain)
    def draw(self: Any, count: int) -> Any:
        if _here.moment is None or count < 1:
            return plain(self, count)
        return (0, count - 1, count // 2, count // 3)[_here.moment]

    return draw


def _share(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Draws between 0 and 1: both ends, and others."""

    @wraps(plain)
    def draw(self: Any) -> Any:
        return plain(self) if _here.moment is None else (0.0, 1 - 2**-53, 0.5, 0.25)[_here.moment]

    return draw


def _seeding(plain: Callable[..., Any]) -> Callable[..., Any]:
    """The seed of a generator that is given none."""

    @wraps(plain)
    def seed(self: Any, a: Any = None, version: int = 2) -> Any:
        return plain(self, _here.moment if a is None else a, version)

    return seed


_CLOCKS = ("time", "monotonic", "perf_counter", "process_time", "thread_time", "clock_gettime")
_PLACES: list[tuple[Any, str, Callable[[Any], Any]]] = [
    *((time, name, _added) for name in _CLOCKS if hasattr(time, name)),
    *((time, f"{name}_ns", _nanoseconds) for name in _CLOCKS if hasattr(time, f"{name}_ns")),
    *((time, name, _given(0)) for name in ("gmtime", "localtime", "ctime", "asctime")),
    (time, "strftime", _given(1)),
    *((os, name, _bytes) for name in ("urandom", "getrandom") if hasattr(os, name)),
    (random, "_urandom", _bytes),
    (random.SystemRandom, "_randbelow", _below),
    (random.SystemRandom, "random", _share),
    (random.Random, "seed", _seeding),
]
_hooks = Hooks(_PLACES)
_KNOWN = {id(getattr(owner, name)) for owner, name, _ in _PLACES if owner in (time, os)}


class Hearing(Change):
    """While it is entered, hears whether this thread asks for the time, or draws random numbers of the system.

    Attributes:
        lines: the user's lines that do so, in a way that another moment can show.
        dated: one that does so in another way.
    """

    def __init__(self) -> None:
        self.lines: list[SourceLine] = []
        self.dated: SourceLine | None = None
        self._before: Any = None

    def make(self) -> None:
        """Begins to hear."""
        self._before = sys.getprofile()
        sys.setprofile(self._hear)

    def undo(self) -> None:
        """Ends it."""
        if sys.getprofile() == self._hear:
            sys.setprofile(self._before)

    def _hear(self, frame: FrameType, event: str, thing: Any) -> None:
        if event == "call" and _asks_numpy(frame.f_code):
            self.dated = source_line(frame, frame.f_lineno)
        if event != "c_call":
            return
        if id(thing) in _KNOWN or thing == _SEED or getattr(thing, "__qualname__", "") == _SEED.__qualname__:
            if frame.f_code.co_filename == __file__:  # a replacement
                return
            if _here.moment is not None and is_users_own(frame.f_code.co_filename):
                self.dated = source_line(frame, frame.f_lineno)  # it has the clock from elsewhere than a global
            elif (line := _asking(frame)) is not None:
                self.lines.append(line)
        elif is_users_own(frame.f_code.co_filename) and _is_of_dates(thing):
            self.dated = source_line(frame, frame.f_lineno)


def _asking(frame: FrameType | None) -> SourceLine | None:
    """The user's line that leads to a call; None where it is one of a logger, whose records carry the time."""
    while frame is not None and not is_users_own(frame.f_code.co_filename):
        if frame.f_globals.get("__name__") == "logging":
            return None
        frame = frame.f_back
    return None if frame is None else source_line(frame, frame.f_lineno)


def _is_of_dates(thing: Any) -> bool:
    kind = getattr(thing, "__self__", None)
    return isinstance(kind, type) and issubclass(kind, datetime.date) and thing.__name__ in ("now", "utcnow", "today")


def _asks_numpy(code: CodeType) -> bool:
    """Whether code has ``np.datetime64("now")`` or ``"today"``, which ask the system's clock beside Python's."""
    return "datetime64" in code.co_names and not {"now", "today"}.isdisjoint(code.co_consts)


_SEED = _random.Random.seed


class Elsewhere(Patched):
    """While it is entered, this thread is at another moment.

    Args:
        functions: the user's functions, which may have imported a clock by its name.
        moment: which one.
    """

    def __init__(self, functions: Iterable[FunctionType], moment: int) -> None:
        super().__init__(*_hooks.patches)
        self.hearing = Hearing()
        self.globals = [*{id(each.__globals__): each.__globals__ for each in functions}.values()]
        self.moment, self.replaced = moment, list[tuple[dict[str, Any], str, Any]]()

    def make(self) -> None:
        """Goes there."""
        super().make()
        _here.moment, _here.drawn = self.moment, 0
        ours = {
            id(getattr(getattr(owner, name), "__wrapped__", None)): getattr(owner, name) for owner, name, _ in _PLACES
        }
        for held in self.globals:
            for name, value in list(held.items()):
                if id(value) in _KNOWN and id(value) in ours:
                    self.replaced.append((held, name, value))
                    held[name] = ours[id(value)]
        self.hearing.make()

    def undo(self) -> None:
        """Comes back."""
        self.hearing.undo()
        for held, name, value in self.replaced:
            held[name] = value
        self.replaced.clear()
        _here.moment = None
        super().undo()


def other_answer(
    call: Callable[[Change], str], functions: Iterable[FunctionType], leaves: Sequence[Any]
) -> Mismatch | None:
    """The mismatch of a function that answers by the time, or by random numbers of the system; None for others.

    Args:
        call: calls function and pipeline, the function in a context, and returns how they differ.
        functions: the user's functions.
        leaves: the inputs of these calls.
    """
    hearing = Hearing()
    call(hearing)
    for moment in range(len(MOMENTS) if hearing.lines else 0):
        there = Elsewhere(functions, moment)
        found = call(there)
        if there.hearing.dated is not None:
            return Mismatch("it may answer otherwise", leaves, asking=there.hearing.dated)
        if found:
            return Mismatch(found, leaves, asking=hearing.lines[0])
    return None if hearing.dated is None else Mismatch("it may answer otherwise", leaves, asking=hearing.dated)
