"""What stands for clocks and for random numbers of the system while a thread is at another moment."""

from __future__ import annotations

import hashlib
import os
import random
import sys
import threading
import time
from collections.abc import Callable
from functools import wraps
from types import FrameType
from typing import Any

from ....recheck.reach.whose import is_users_own
from .aimed_times import Aim

_HOUR = 3600.0
_DAY, _YEAR = 24 * _HOUR, 365.25 * 24 * _HOUR
_NEAR = tuple(days * _DAY + hours * _HOUR + 1037.377 for days, hours in ((400, 7), (141, 13), (-232, 19), (-53, 1)))
_FAR = (900 * _YEAR, -45 * _YEAR)
HURRIED = len(_NEAR) + len(_FAR)
"""The moment in which each question of the user's own code finds the clock hours later than the one before."""
MOMENTS = (
    *_NEAR,
    *_FAR,
    0.0,
    *(number * _YEAR + 2 * number * _DAY for number in range(1, 11)),
    *(number * (32 * _DAY + 5 * _HOUR + 119) for number in range(1, 31)),
)
"""By how many seconds the moments are later: in other years, months, days, weekdays, hours, minutes and seconds."""
_HURRY = 7 * _HOUR + 13.7


class Here(threading.local):
    """Where this thread is.

    Attributes:
        hear: gets each frame that asks; None where nobody wants to know.
        moment: the number of the moment; None for the present one.
        asked: how often the user's own code has asked a clock.
        drawn: how often random numbers were drawn.
        aim: the time of the moment, where it is one that the code speaks of.
    """

    hear: Callable[[FrameType], None] | None = None
    moment: int | None = None
    aim: Aim | None = None
    asked = drawn = 0

    def ask(self, asking: FrameType) -> None:
        """Says that a frame asks."""
        if self.hear is not None:
            self.hear(asking)

    def later(self, asking: FrameType) -> float:
        """By how many seconds a clock is later for the code that asks it."""
        assert self.moment is not None
        if self.moment == HURRIED and is_users_own(asking.f_code.co_filename):
            self.asked += 1
        return MOMENTS[self.moment] + self.asked * _HURRY


here = Here()


def _added(plain: Callable[..., Any], scale: int = 1) -> Callable[..., Any]:
    """A clock that shows the time of the moment."""

    @wraps(plain)
    def clock(*args: Any, **kwargs: Any) -> Any:
        now = plain(*args, **kwargs)
        here.ask(sys._getframe(1))
        if here.moment is None:
            return now
        if here.aim is not None:
            return here.aim.shown(now, scale)
        later = here.later(sys._getframe(1)) * scale
        return now + (int(later) if isinstance(now, int) else later)

    return clock


def _nanoseconds(plain: Callable[..., Any]) -> Callable[..., Any]:
    return _added(plain, 10**9)


def _given(at: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A function of `time` that takes the present one where none is given at a position."""

    def make(plain: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(plain)
        def shown(*args: Any) -> Any:
            if len(args) > at and args[at] is not None:
                return plain(*args)
            here.ask(sys._getframe(1))
            if here.moment is None:
                return plain(*args)
            now = time.time()  # of the moment
            structured = plain in (_PLAIN["asctime"], _PLAIN["strftime"])
            return plain(*args[:at], _PLAIN["localtime"](now) if structured else now)

        return shown

    return make


_PLAIN = {name: getattr(time, name) for name in ("asctime", "strftime", "localtime")}


def _times(plain: Callable[..., Any]) -> Callable[..., Any]:
    """The times of the process."""

    @wraps(plain)
    def times() -> Any:
        found = plain()
        here.ask(sys._getframe(1))
        if here.moment is None:
            return found
        later = here.later(sys._getframe(1))
        return type(found)(each + later for each in found)

    return times


def _bytes(plain: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(plain)
    def draw(count: int, *args: Any) -> Any:
        here.ask(sys._getframe(1))
        if here.moment is None:
            return plain(count, *args)
        here.drawn += 1
        return hashlib.shake_128(b"%d %d" % (here.moment, here.drawn)).digest(count)

    return draw


def _below(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Draws of an integer: the least, the largest, and others."""

    @wraps(plain)
    def draw(self: Any, count: int) -> Any:
        here.ask(sys._getframe(1))
        if here.moment is None or count < 1:
            return plain(self, count)
        if here.aim is not None:
            return here.aim.rest % count
        few = (0, count - 1, count // 2, count // 3)
        return few[here.moment] if here.moment < len(few) else here.moment % count

    return draw


def _share(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Draws between 0 and 1: both ends, and others."""

    @wraps(plain)
    def draw(self: Any) -> Any:
        few = (0.0, 1 - 2**-53, 0.5, 0.25)
        here.ask(sys._getframe(1))
        if here.moment is None:
            return plain(self)
        return few[here.moment] if here.moment < len(few) else here.moment / len(MOMENTS)

    return draw


def _seeding(plain: Callable[..., Any]) -> Callable[..., Any]:
    """The seed of a generator that is given none."""

    @wraps(plain)
    def seed(self: Any, a: Any = None, version: int = 2) -> Any:
        if a is None:
            here.ask(sys._getframe(1))
        return plain(self, here.moment if a is None else a, version)

    return seed


_CLOCKS = ("time", "monotonic", "perf_counter", "process_time", "thread_time", "clock_gettime")
PLACES: list[tuple[Any, str, Callable[[Any], Any]]] = [
    *((time, name, _added) for name in _CLOCKS if hasattr(time, name)),
    *((time, f"{name}_ns", _nanoseconds) for name in _CLOCKS if hasattr(time, f"{name}_ns")),
    *((time, name, _given(0)) for name in ("gmtime", "localtime", "ctime", "asctime")),
    (time, "strftime", _given(1)),
    (os, "times", _times),
    *((os, name, _bytes) for name in ("urandom", "getrandom") if hasattr(os, name)),
    (random, "_urandom", _bytes),
    (random.SystemRandom, "_randbelow", _below),
    (random.SystemRandom, "random", _share),
    (random.Random, "seed", _seeding),
]
KNOWN = {id(getattr(owner, name)) for owner, name, _ in PLACES if owner in (time, os)}
