"""Other moments, in which a function is tried: other times on every clock, and other random numbers of the system.

A recording would freeze both. What other modules call is replaced for the thread that tries; what the function has
imported by name is replaced in its globals, the classes of dates among it. Where the function has one from elsewhere,
that it asks it is heard.
"""

from __future__ import annotations

import _random
import datetime
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import CodeType, FrameType, FunctionType
from typing import Any

from .....ops.graph.graph import SourceLine
from .....ops.lowering.patches.lock import Patched
from .....ops.runtime.interrupts.changes import Change
from .....ops.runtime.user_code import source_line
from ....recheck.mismatch import Mismatch
from ....recheck.reach.objects import Objects
from ....recheck.reach.whose import is_users_own
from . import clocks, moved_dates
from .aimed_times import Aim, aims
from .clocks import HURRIED, KNOWN, MOMENTS, PLACES, here
from .machines import OTHER_MACHINES, OtherMachine, Reading, constants_of, reading_of


class Hearing(Change):
    """While it is entered, hears whether this thread asks for the time, or draws random numbers of the system.

    Attributes:
        lines: the user's lines that do so, in a way that another moment can show.
        dated: one that does so in another way.
        read: what the user's lines read of the machine.
    """

    def __init__(self) -> None:
        self.lines: list[SourceLine] = []
        self.dated: SourceLine | None = None
        self.read: list[Reading] = []
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
        if (reading := reading_of(frame, event, thing)) is not None:
            self.read.append(reading)
        if event == "call" and _asks_numpy(frame.f_code):
            self.dated = source_line(frame, frame.f_lineno)
        if event != "c_call":
            return
        if id(thing) in KNOWN or thing == _SEED or getattr(thing, "__qualname__", "") == _SEED.__qualname__:
            if frame.f_code.co_filename in _REPLACING:
                return
            if here.moment is not None and is_users_own(frame.f_code.co_filename):
                self.dated = source_line(frame, frame.f_lineno)  # it has the clock from elsewhere than a global
            elif (line := _asking(frame)) is not None:
                self.lines.append(line)
        elif is_users_own(frame.f_code.co_filename) and _is_of_dates(thing):
            line = source_line(frame, frame.f_lineno)
            if here.moment is None:
                self.lines.append(line)
            else:
                self.dated = line


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


MOST_SECONDS = 1.0  # for the moments beyond those in which nearly all answers differ
_SEED = _random.Random.seed
_REPLACING = (clocks.__file__, moved_dates.__file__)


class Elsewhere(Patched):
    """While it is entered, this thread is at another moment.

    Args:
        functions: the user's functions, which may have imported a clock by its name.
        moment: which one.
        aim: its time, where the code speaks of it.
    """

    def __init__(self, functions: Iterable[FunctionType], moment: int, aim: Aim | None = None) -> None:
        super().__init__(*clocks.hooks.patches)
        self.hearing = Hearing()
        self.globals = [*{id(each.__globals__): each.__globals__ for each in functions}.values()]
        self.moment, self.aim, self.replaced = moment, aim, list[tuple[dict[str, Any], str, Any]]()

    def make(self) -> None:
        """Goes there."""
        super().make()
        here.moment, here.aim, here.asked, here.drawn = self.moment, self.aim, 0, 0
        ours = {
            id(getattr(getattr(owner, name), "__wrapped__", None)): getattr(owner, name) for owner, name, _ in PLACES
        }
        for held in self.globals:
            for name, value in list(held.items()):
                other = ours.get(id(value)) if id(value) in KNOWN else moved_dates.moved(value)
                if other is not None:
                    self.replaced.append((held, name, value))
                    held[name] = other
        self.hearing.make()

    def undo(self) -> None:
        """Comes back."""
        self.hearing.undo()
        for held, name, value in self.replaced:
            held[name] = value
        self.replaced.clear()
        here.moment = here.aim = None
        super().undo()


def other_answer(
    call: Callable[[Change], str], objects: Objects, leaves: Sequence[Any], notes: list[str]
) -> Mismatch | None:
    """The mismatch of a function that answers by the time, or by random numbers of the system; None for others.

    Args:
        call: calls function and pipeline, the function in a context, and returns how they differ.
        objects: what the function can reach.
        leaves: the inputs of these calls.
        notes: gets a line for each thing of the machine by which the function answers.
    """
    hearing = Hearing()
    call(hearing)
    for there in _moments(objects) if hearing.lines else ():
        found = call(there)
        if there.hearing.dated is not None:
            return Mismatch("it may answer otherwise", leaves, asking=there.hearing.dated)
        if found:
            return Mismatch(found, leaves, asking=hearing.lines[0])
    if hearing.dated is not None:
        return Mismatch("it may answer otherwise", leaves, asking=hearing.dated)
    notes += [reading.note() for reading in _deciding(call, objects.functions, hearing.read)]
    return None


def _moments(objects: Objects) -> Iterator[Elsewhere]:
    """The moments in which a function is tried: all in which nearly all answers differ, others as time allows."""
    until = time.perf_counter() + MOST_SECONDS
    for moment in range(len(MOMENTS)):
        if moment > HURRIED and time.perf_counter() > until:
            break
        yield Elsewhere(objects.functions, moment)
    until = max(until, time.perf_counter() + MOST_SECONDS / 2)
    for aim in aims(objects.plain_values()):
        if time.perf_counter() > until:
            break
        yield Elsewhere(objects.functions, len(MOMENTS) - 1, aim)


def _deciding(
    call: Callable[[Change], str], functions: Sequence[FunctionType], read: Sequence[Reading]
) -> Iterator[Reading]:
    """What a function reads of the machine by which it answers."""
    yield from constants_of(functions)
    kinds = {each.what: each for each in read}
    for what, first in kinds.items():
        if any(call(OtherMachine(functions, first, machine)) for machine in range(OTHER_MACHINES)):
            yield from {str(each.line): each for each in read if each.what == what}.values()
