"""The functions of a model that run, among them those that ask what only they can be answered."""

from __future__ import annotations

import builtins
import sys
from types import CodeType, FrameType
from typing import Any

from ....runtime.interrupts.changes import Change
from ....runtime.user_code import is_users, names_in
from ..int_range import Asker, asker_of
from .lending import LENT
from .size_identity import compares_bools


class RanFunctions(Change):
    """While it is entered, collects the functions that name what is lent to them while the model is exported.

    Attributes:
        askers: these functions, each with what is lent to it by name.
        compares_bools: whether a function compares with True or False by `is`.
    """

    def __init__(self) -> None:
        self.askers: list[tuple[Asker, dict[str, Any]]] = []
        self.compares_bools = False
        self._seen: dict[int, CodeType] = {}
        self._before: Any = None
        self._profiling = False

    def make(self) -> None:
        """Listens to calls, after a profiler that does so."""
        self._before = sys.getprofile()
        if hasattr(self._before, "disable"):  # one of C, as cProfile is
            self._before.disable()
        self._profiling = True
        sys.setprofile(self._call)

    def undo(self) -> None:
        """Listens no more."""
        if not self._profiling:
            return
        self._profiling = False
        if hasattr(self._before, "enable"):
            sys.setprofile(None)
            self._before.enable()
        else:
            sys.setprofile(self._before)

    def _call(self, frame: FrameType, event: str, arg: Any) -> None:
        if event == "call" and id(frame.f_code) not in self._seen:
            self._seen[id(frame.f_code)] = frame.f_code
            if is_users(frame.f_code.co_filename):
                self._note(frame)
        if callable(self._before):
            self._before(frame, event, arg)

    def _note(self, frame: FrameType) -> None:
        names = asked_names(frame.f_code, frame.f_globals)
        if names:
            self.askers.append((asker_of(frame), names))
        self.compares_bools = self.compares_bools or compares_bools(frame.f_code)


def asked_names(code: CodeType, module: dict[str, Any]) -> dict[str, Any]:
    """What is lent to a function, by the names under which it has the originals."""
    found = {name: module.get(name, getattr(builtins, name, None)) for name in names_in(code)}
    return {name: LENT[id(thing)] for name, thing in found.items() if id(thing) in LENT}
