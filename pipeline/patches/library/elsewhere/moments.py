"""Other moments, in which a function is tried: other times on every clock, and other random numbers of the system.

A recording would freeze both. What other modules call is replaced for the thread that tries; what the function has
imported by name is replaced in its globals. Where the function has one from elsewhere, that it asks it is heard.
What becomes of what is heard is read from the source, since few moments may matter.
"""

from __future__ import annotations

import datetime
import pickle
import random
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from types import CodeType, FrameType, FunctionType
from typing import Any

import numpy as np
import torch

from .....ops.graph.graph import SourceLine
from .....ops.lowering.patches.lock import Patched
from .....ops.runtime.interrupts.changes import Change
from .....ops.runtime.user_code import TORCHS, codes_in, source_line
from ....recheck.mismatch import Mismatch
from ....recheck.reach.contents.hidden import DRAWS
from ....recheck.reach.objects import Objects
from ....recheck.reach.places import Location
from ....recheck.reach.whose import is_users_own
from ....recheck.reach.written.written_codes import code_as_written
from ...hooks import Hooks
from . import clocks, kept_files, moved_dates
from .aftermath import is_seeded, may_matter
from .aimed_times import Aim, aims
from .clocks import HURRIED, KNOWN, MOMENTS, here
from .kept_files import kept_in, touched
from .machines import OTHER_MACHINES, OtherMachine, Reading, constants_of, reading_of


class Holders:
    """What holds a clock by a name of its own: globals of the user's functions, and partials.

    Args:
        objects: what the user's function reaches.
    """

    def __init__(self, objects: Objects) -> None:
        self.objects = objects
        owners = {id(each.__globals__): each.__globals__ for each in objects.functions}.values()
        self.names = [(held, *item) for held in owners for item in list(held.items()) if id(item[1]) in KNOWN]
        held = (each for place in objects.places() for each in place.before.values())
        calls: dict[int, Any] = {id(each): each for each in held if type(each) is partial and id(each.func) in KNOWN}
        self.calls = [(call, (call.func, call.args, call.keywords, vars(call))) for call in calls.values()]

    @cached_property
    def codes(self) -> frozenset[tuple[str, int, str]]:
        """The user's code that was found."""
        codes = (code for each in self.objects.functions for code in codes_in(code_as_written(each)))
        return frozenset(map(_key_of, codes))

    @cached_property
    def texts(self) -> list[str]:
        """The texts that the user's code names."""
        return [each for each in self.objects.plain_values() if type(each) is str]

    def give(self, clocks: Mapping[int, Any]) -> None:
        """Gives them other clocks, by the ids of their own."""
        for held, name, value in self.names:
            held[name] = clocks.get(id(value), value)
        for call, (func, *others) in self.calls:
            call.__setstate__((clocks.get(id(func), func), *others))


def _key_of(code: CodeType) -> tuple[str, int, str]:
    return code.co_filename, code.co_firstlineno, code.co_name


_BUILT_IN = frozenset("builtins torch numpy functools _functools itertools".split())


def _is_of_extension(thing: Any) -> bool:
    """Whether a function of C is a method of an object of a module that keeps what it is given to call."""
    return type(getattr(thing, "__self__", None)).__module__.partition(".")[0] not in _BUILT_IN


class Hearing(Patched):
    """While it is entered, hears whether this thread asks for the time, or draws random numbers of the system.

    Args:
        holders: what has a clock by its own name.

    Attributes:
        lines: the user's lines that do so.
        decisive: the first of them that may decide by what it gets, or give it.
        dated: one whose answer does not follow the moments, and may matter.
        read: what the user's lines read of the machine.
        draws: whether generators moved that belong to all functions.
        unseen: the user's code that C code calls, where nothing leads to it.
        file: the name of a file that the function goes on from, or of a folder.
    """

    def __init__(self, holders: Holders) -> None:
        super().__init__(*_hooks.patches)
        self.holders = holders
        self.lines: list[SourceLine] = []
        self.decisive: SourceLine | None = None
        self.dated: SourceLine | None = None
        self.read: list[Reading] = []
        self.draws, self.unseen, self.file = False, "", ""
        self._calling: FrameType | None = None
        self._before: Any = None
        self._shared: list[Any] = []

    def make(self) -> None:
        """Begins to hear."""
        super().make()
        self._shared, touched.files = _shared_generators(), []
        pairs = ((owner, getattr(owner, name)) for owner, name, _ in clocks.PLACES)
        self.holders.give({id(getattr(each, "__wrapped__", None)): each for _, each in pairs})
        here.hear, self._before = self._asked, sys.getprofile()
        sys.setprofile(self._hear)

    def undo(self) -> None:
        """Ends it."""
        here.hear = None
        if sys.getprofile() == self._hear:
            sys.setprofile(self._before)
        self.holders.give({})
        if self._shared:
            self.draws = pickle.dumps(self._shared) != pickle.dumps(_shared_generators())
            random.setstate(self._shared[0])
            np.random.set_state(self._shared[1])
            self._shared = []
        if touched.files is not None:
            found, touched.files = touched.files, None
            self.file = kept_in(found)
        super().undo()

    def _hear(self, frame: FrameType, event: str, thing: Any) -> None:
        if (reading := reading_of(_behind(frame), event, thing)) is not None:
            self.read.append(reading)
            if reading.kind == "file" and any(map(_OF_DEVICES.match, self.holders.texts)):
                self._note_dated(frame)
        if event == "call" and self._calling is not None and frame.f_back is self._calling:
            self._called_by_c(frame.f_code)
        by_torch = frame.f_code.co_filename.startswith(TORCHS)  # it calls the kernels of operators
        self._calling = frame if event == "c_call" and not by_torch and _is_of_extension(thing) else None
        if event == "call" and _asks_numpy(frame.f_code):
            self.dated = source_line(frame, frame.f_lineno)
        if event == "c_call" and frame.f_code.co_filename not in _REPLACING:
            if id(thing) in KNOWN:
                self._asked(frame)
                if is_users_own(frame.f_code.co_filename):
                    self._note_dated(frame)  # it has the clock from elsewhere than a global
            elif self._is_of_system(thing):
                self._note_dated(frame)

    def state(self) -> Iterator[tuple[str, str]]:
        """What the function keeps where no object of its own holds it, and what is to be said of it."""
        if self.unseen:
            yield f"{self.unseen}, which code of C calls", "nothing tells what that keeps"
        if self.draws:
            yield DRAWS, "it goes on where this one ended"
        if self.file:
            yield f"the file {self.file!r}", "it finds what this one has written"

    def _called_by_c(self, code: CodeType) -> None:
        """Takes note of code that a function of C calls, as sqlite's does what `create_function` was given."""
        own = is_users_own(code.co_filename) and not code.co_filename.startswith("<") and code.co_name != "__del__"
        if own and code.co_names and _key_of(code) not in self.holders.codes:
            self.unseen = self.unseen or code.co_name

    def _asked(self, frame: FrameType) -> None:
        if (line := _asking(frame)) is not None:
            self.lines.append(line)
            if self.decisive is None and may_matter(frame) and not is_seeded(frame):
                self.decisive = line

    def _note_dated(self, frame: FrameType) -> None:
        if self.dated is None and (line := _asking(frame)) is not None and may_matter(frame):
            self.dated = line

    def _is_of_system(self, thing: Any) -> bool:
        """Whether a function of C asks the system in a way that no moment changes."""
        name, whose = getattr(thing, "__name__", ""), getattr(thing, "__self__", None)
        if name == "seed":
            return isinstance(whose, torch.Generator)
        if name.startswith("execute"):
            return type(whose).__module__ == "sqlite3" and any(map(_OF_DATABASES.search, self.holders.texts))
        if name in ("now", "utcnow"):  # kept from before it was replaced
            return isinstance(whose, type) and issubclass(whose, datetime.datetime)
        return (getattr(thing, "__module__", ""), name) in _OF_SYSTEM


def _behind(frame: FrameType) -> FrameType:
    """The frame that calls what stands for a function of files."""
    return frame.f_back if frame.f_code.co_filename == kept_files.__file__ and frame.f_back is not None else frame


def _shared_generators() -> list[Any]:
    """The states of those of Python and numpy, which functions of packages move, too."""
    return [random.getstate(), np.random.get_state(legacy=False)]


def _asking(frame: FrameType | None) -> SourceLine | None:
    """The user's line that leads to a call; None where it is one of a logger, whose records carry the time."""
    while frame is not None and not is_users_own(frame.f_code.co_filename):
        if frame.f_globals.get("__name__") == "logging" and frame.f_code.co_name in _LOGGING:
            return None
        frame = frame.f_back
    return None if frame is None else source_line(frame, frame.f_lineno)


def _asks_numpy(code: CodeType) -> bool:
    """Whether code asks numpy for ``"now"`` or ``"today"``, which asks the system's clock beside Python's."""
    if not is_users_own(code.co_filename):
        return False
    texts = {
        each.lower()
        for item in code.co_consts
        for each in (item if type(item) is tuple else (item,))
        if type(each) is str
    }
    of_dates = "datetime64" in code.co_names or any(each.startswith(("datetime64", "m8", "<m8")) for each in texts)
    return of_dates and not {"now", "today"}.isdisjoint(texts)


MOST_SECONDS = 1.0  # for the moments beyond those in which nearly all answers differ
_REPLACING = (clocks.__file__, moved_dates.__file__)
_LOGGING = frozenset(("_log", "handle", "makeRecord"))
_hooks = Hooks([*clocks.PLACES, *moved_dates.PLACES, *kept_files.PLACES])
_OF_DEVICES = re.compile(r"/dev/u?random$|/proc/")
_OF_DATABASES = re.compile(r"\brandom(blob)?\s*\(|'now'|\bcurrent_(time|date|timestamp)\b", re.IGNORECASE)
_OF_SYSTEM = (("resource", "getrusage"), ("posix", "getloadavg"), ("_uuid", "generate_time_safe"))


class Elsewhere(Hearing):
    """While it is entered, this thread is at another moment.

    Args:
        holders: what has a clock by its own name.
        moment: which one.
        aim: its time, where the code speaks of it.
    """

    def __init__(self, holders: Holders, moment: int, aim: Aim | None = None) -> None:
        super().__init__(holders)
        self.moment, self.aim = moment, aim

    def make(self) -> None:
        """Goes there."""
        here.moment, here.aim, here.asked, here.drawn = self.moment, self.aim, 0, 0
        super().make()

    def undo(self) -> None:
        """Comes back."""
        super().undo()
        here.moment = here.aim = None


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
    holders = Holders(objects)
    hearing = Hearing(holders)
    call(hearing)
    for there in _moments(holders, all_of_them=hearing.decisive is None) if hearing.lines else ():
        if found := call(there):
            return Mismatch(found, leaves, asking=hearing.lines[0])
    if (line := hearing.decisive or hearing.dated) is not None:
        return Mismatch("it may answer otherwise", leaves, asking=line)
    for name, what in hearing.state():
        place = Location(name, dict, lambda _: None, {})
        return Mismatch(what, leaves, repeated=True, place=(place, ""))
    notes += [reading.note() for reading in _deciding(call, objects.functions, hearing.read)]
    return None


def _moments(holders: Holders, all_of_them: bool) -> Iterator[Elsewhere]:
    """The moments in which a function is tried: those in which nearly all answers differ, and others as time allows."""
    until = time.perf_counter() + MOST_SECONDS
    for moment in range(len(MOMENTS) if all_of_them else HURRIED):
        if moment > HURRIED and time.perf_counter() > until:
            break
        yield Elsewhere(holders, moment)
    until = max(until, time.perf_counter() + MOST_SECONDS / 2)
    for aim in aims(holders.objects.plain_values()) if all_of_them else ():
        if time.perf_counter() > until:
            break
        yield Elsewhere(holders, len(MOMENTS) - 1, aim)


def _deciding(
    call: Callable[[Change], str], functions: Sequence[FunctionType], read: Sequence[Reading]
) -> Iterator[Reading]:
    """What a function reads of the machine by which it answers."""
    yield from constants_of(functions)
    kinds = {each.what: each for each in read}
    for what, first in kinds.items():
        if any(call(OtherMachine(functions, first, machine)) for machine in range(OTHER_MACHINES)):
            yield from {str(each.line): each for each in read if each.what == what}.values()
