"""Other machines, on which a function is tried: other variables of the environment, other files, another name.

What the function reads of the machine goes into the file as it is now. Constants of a program often come so, and they
are meant to; but which ones do is said.
"""

from __future__ import annotations

import builtins
import dis
import io
import os
import platform
import socket
import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from itertools import pairwise
from types import CodeType, FrameType, FunctionType
from typing import Any

from .....ops.graph.graph import SourceLine
from .....ops.lowering.patches.lock import Patched
from .....ops.runtime.user_code import codes_in, is_users, line_of, source_line
from ....recheck.reach.whose import is_users_own
from ....recheck.reach.written.written_codes import code_as_written
from ...hooks import Hooks

OTHER_MACHINES = 3
"""How many are tried: on the first one nothing is found, on the others there is something else."""
_READ_BY_PYTHON = frozenset("logging warnings linecache traceback tokenize inspect importlib pdb bdb".split())
_PACKAGES = ("numpy", "pandas")  # whose functions read files for the user


@dataclass(frozen=True)
class Reading:
    """What a line reads of the machine.

    Attributes:
        what: in words.
        kind: `environment`, `file` or `machine`.
        line: the user's.
    """

    what: str
    kind: str
    line: SourceLine

    def note(self) -> str:
        """What is to be said of it."""
        return (
            f"{self.line}: the function reads {self.what}, by which it answers: that is fixed to what it is now. Read "
            f"it before the call, and pass it as an argument"
        )


class _There(threading.local):
    machine: int | None = None
    kind = what = ""


_there = _There()


def reading_of(frame: FrameType, event: str, thing: Any) -> Reading | None:
    """What the user reads of the machine where a profiler hears of a call; None for other calls."""
    kind = what = ""
    if event == "call":
        kind, what = _of_code(frame)
    elif event == "c_call" and id(thing) in _CALLS:
        kind, what = _CALLS[id(thing)]
        if frame.f_code.co_filename == __file__:
            return None
    if not kind:
        return None
    line = _line_of(frame if event == "c_call" else frame.f_back, kind)
    return None if line is None else Reading(what, kind, line)


def constants_of(functions: Iterable[FunctionType]) -> list[Reading]:
    """What functions read of the machine that is no call, such as ``sys.platform``."""
    found: list[Reading] = []
    for function in functions:
        for code in codes_in(code_as_written(function)):
            line = code.co_firstlineno
            for before, after in pairwise(each for each in dis.get_instructions(code) if each.opname != "CACHE"):
                line = before.positions.lineno or line if before.positions else line
                owner = function.__globals__.get(str(before.argval)) if before.opname == "LOAD_GLOBAL" else None
                what = f"{before.argval}.{after.argval}"
                if after.argval in _CONSTANTS.get(id(owner), ()) and after.opname == "LOAD_ATTR":
                    found.append(Reading(what, "constant", line_of(code, line)))
    return found


def _of_code(frame: FrameType) -> tuple[str, str]:
    code = frame.f_code
    if code is _ASKING_ENVIRONMENT:
        return "environment", _variable(frame.f_locals.get("key"))
    return ("machine", f"platform.{code.co_name}()") if code in _OF_PLATFORM else ("", "")


def _variable(key: Any) -> str:
    return f"the variable {key!r} of the environment"


def _line_of(frame: FrameType | None, kind: str) -> SourceLine | None:
    """The user's line behind a call; None where a package, or Python for purposes of its own, calls."""
    while frame is not None and not is_users_own(frame.f_code.co_filename):
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        by_package = is_users(frame.f_code.co_filename) or package in ("torch", "tracepack", *_PACKAGES)
        if package in _READ_BY_PYTHON or (by_package and not (kind == "file" and package in _PACKAGES)):
            return None
        frame = frame.f_back
    return None if frame is None else source_line(frame, frame.f_lineno)


def _is_asked(kind: str, what: str = "") -> bool:
    """Whether this thread is on another machine, in what is asked for, and the user's code asks."""
    if _there.machine is None or _there.kind != kind or (what and _there.what != what):
        return False
    return _line_of(_caller(), kind) is not None


def _caller() -> FrameType | None:
    return sys._getframe(3)


_OTHER_TEXTS = ("", "0", "other")
_OTHER_NUMBERS = (1, 1022, 4093)  # no number divides both differences: what is left of a division shows, too


def _environment(plain: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(plain)
    def ask(self: Any, key: Any) -> Any:
        if not isinstance(key, str) or not _is_asked("environment", _variable(key)):
            return plain(self, key)
        assert _there.machine is not None
        if _there.machine == 0:
            raise KeyError(key)
        return _OTHER_TEXTS[_there.machine]

    return ask


def _file(plain: Callable[..., Any]) -> Callable[..., Any]:
    """What opens, lists or examines files: there are none."""

    @wraps(plain)
    def find(path: Any = ".", *args: Any, **kwargs: Any) -> Any:
        if isinstance(path, int) or not _is_asked("file") or _writes(args, kwargs):
            return plain(path, *args, **kwargs)
        raise FileNotFoundError(2, "No such file or directory", path)

    return find


def _writes(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    mode = kwargs.get("mode", args[0] if args else "r")
    return isinstance(mode, str) and not {"w", "a", "x", "+"}.isdisjoint(mode)


def _number(plain: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(plain)
    def ask(*args: Any) -> Any:
        return _OTHER_NUMBERS[_there.machine or 0] if _is_asked("machine") else plain(*args)

    return ask


def _text(plain: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(plain)
    def ask(*args: Any, **kwargs: Any) -> Any:
        found = plain(*args, **kwargs)
        if not isinstance(found, str) or not _is_asked("machine"):
            return found
        return _OTHER_TEXTS[_there.machine or 0]

    return ask


_OF_PLATFORMS = ("platform", "system", "node", "machine", "release", "version", "processor", "python_version")
_MACHINE: list[tuple[Any, str, Callable[[Any], Any]]] = [
    *((os, name, _number) for name in ("getpid", "getppid", "cpu_count", "getuid") if hasattr(os, name)),
    *((os, name, _text) for name in ("getcwd", "getlogin") if hasattr(os, name)),
    *((socket, name, _text) for name in ("gethostname", "getfqdn")),
    *((platform, name, _text) for name in _OF_PLATFORMS),
]
_FILES: list[tuple[Any, str, Callable[[Any], Any]]] = [
    (builtins, "open", _file), (io, "open", _file),
    *((os, name, _file) for name in ("stat", "listdir", "scandir")),
]  # fmt: skip
_CONSTANTS = {id(sys): ("platform", "argv"), id(os): ("name",)}
_ENVIRONMENT = os._Environ.__getitem__
_hooks = Hooks([*_MACHINE, *_FILES, (os._Environ, "__getitem__", _environment)])
_ASKING_ENVIRONMENT: CodeType = _ENVIRONMENT.__code__
_OF_PLATFORM: frozenset[CodeType] = frozenset(getattr(platform, name).__code__ for name in _OF_PLATFORMS)
_CALLS = {
    **{id(getattr(owner, name)): ("file", "a file") for owner, name, _ in _FILES},
    **{id(getattr(owner, name)): ("machine", f"{owner.__name__}.{name}()") for owner, name, _ in _MACHINE},
}
_KNOWN = frozenset(id(getattr(owner, name)) for owner, name, _ in [*_MACHINE, *_FILES])


class OtherMachine(Patched):
    """While it is entered, what a line reads of the machine is another thing for this thread.

    Args:
        functions: the user's functions, which may have imported what asks by its name.
        reading: what they read.
        machine: which one.
    """

    def __init__(self, functions: Iterable[FunctionType], reading: Reading, machine: int) -> None:
        super().__init__(*_hooks.patches)
        self.globals = [*{id(each.__globals__): each.__globals__ for each in functions}.values()]
        self.reading, self.machine, self.replaced = reading, machine, list[tuple[dict[str, Any], str, Any]]()

    def make(self) -> None:
        """Goes there."""
        super().make()
        _there.machine, _there.kind, _there.what = self.machine, self.reading.kind, self.reading.what
        now = [getattr(owner, name) for owner, name, _ in [*_MACHINE, *_FILES]]
        others = {id(getattr(each, "__wrapped__", None)): each for each in now}
        for held in self.globals:
            for name, value in list(held.items()):
                if id(value) in _KNOWN and id(value) in others:
                    self.replaced.append((held, name, value))
                    held[name] = others[id(value)]

    def undo(self) -> None:
        """Comes back."""
        for held, name, value in self.replaced:
            held[name] = value
        self.replaced.clear()
        _there.machine = None
        super().undo()
