"""Tells code of the user from other code, and finds the user's line behind an error or a warning."""

from __future__ import annotations

import dis
import inspect
import json
import linecache
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path, PurePath
from types import CodeType, FrameType, FunctionType, MappingProxyType, TracebackType
from typing import Any

import numpy as np
import torch

from ..graph.graph import SourceLine

OURS = str(Path(os.path.abspath(__file__)).parents[2]) + os.sep
TORCHS = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
_NUMPYS = os.path.dirname(os.path.abspath(np.__file__)) + os.sep
_PYTHONS = os.path.dirname(os.__file__) + os.sep
_DISPATCHERS = tuple(os.path.join(TORCHS, each) for each in ("_ops.py", "_dynamo", "_compile.py", "_tensor.py"))
"""Where torch calls an operator while a mode listens, which says nothing of what failed."""
_TYPED = ("<stdin", "<ipython", "<string", "<doctest")  # names in place of a file for code that a user types


def is_users(path: str) -> bool:
    """Whether a file is neither torch's or numpy's, nor ours, nor generated."""
    if path.startswith("<"):
        return path.startswith(_TYPED)
    if path.startswith((OURS, TORCHS, _NUMPYS)) or path.endswith(".pyx"):
        return False
    return (
        not path.startswith(_PYTHONS) or "-packages" in path
    )  # installed packages lie inside the folder of Python's library


def is_own(path: str) -> bool:
    """Whether a file is the user's own, and not of an installed package."""
    return is_users(path) and not is_installed(path) and not path.startswith("<string")


def is_installed(path: str) -> bool:
    """Whether a file is of an installed package; one that was installed from a folder is the user's own."""
    return "-packages" in path and not path.startswith(_installed_from_folders(tuple(sys.path)))


@cache
def _installed_from_folders(paths: Sequence[str]) -> tuple[str, ...]:
    """The beginnings of the files that came from a folder, as ``pip install .`` puts them beside other packages."""
    found = list[str]()
    for folder in dict.fromkeys(each for each in paths if "-packages" in each):
        for origin in Path(folder).glob("*.dist-info/direct_url.json"):
            with suppress(OSError, ValueError):
                if "dir_info" in json.loads(origin.read_text()):
                    found += _files_of(folder, origin.with_name("RECORD").read_text())
    return tuple(each for each in found if not each.startswith(OURS))


def _files_of(folder: str, record: str) -> list[str]:
    """The folders and modules that the record of a distribution names: ``userpk/``, ``usermodule.py``."""
    paths = {line.rpartition(",")[0].rpartition(",")[0] for line in record.splitlines()}
    parts = {path.partition("/") for path in paths if not path.startswith(("..", "/"))}
    return [os.path.join(folder, first) + (os.sep if rest else "") for first, _, rest in parts]


def user_stacklevel() -> int:
    """The `stacklevel` with which a caller's warning shows the innermost line of the user."""
    frame, level = sys._getframe(1), 1
    while not is_users(frame.f_code.co_filename):
        if frame.f_back is None:
            return 1
        frame, level = frame.f_back, level + 1
    return level


def raising_line(trace: TracebackType | None) -> SourceLine | None:
    """The innermost line of the user that an error came through, or None."""
    found = None
    while trace is not None:
        if is_users(trace.tb_frame.f_code.co_filename):
            found = source_line(trace.tb_frame, trace.tb_lineno)
        trace = trace.tb_next
    return found


def own_line(trace: TracebackType | None) -> SourceLine | None:
    """The innermost line of the user's own code, and not of an installed package, that an error came through."""
    found = None
    while trace is not None:
        if is_own(trace.tb_frame.f_code.co_filename):
            found = source_line(trace.tb_frame, trace.tb_lineno)
        trace = trace.tb_next
    return found


def library_lines(trace: TracebackType | None) -> list[str]:
    """The lines of packages below the user's own innermost line that an error came through, each with its package."""
    found: list[str] = []
    while trace is not None:
        path = trace.tb_frame.f_code.co_filename
        if is_own(path):
            found = []
        elif not path.startswith((OURS, "<", *_DISPATCHERS)):
            line = source_line(trace.tb_frame, trace.tb_lineno)
            found.append(f"{_path_in_package(path)}:{line.line} in {line.function}: {line.code}")
        trace = trace.tb_next
    return found


def _path_in_package(path: str) -> str:
    """A file of a package with the folders inside of that package only, or of Python's own library."""
    inner = path.removeprefix(_PYTHONS)
    return PurePath(re.split(r"(?:site|dist)-packages[/\\\\]", inner)[-1]).as_posix()


def source_line(frame: FrameType, number: int) -> SourceLine:
    """A line of a frame's function, without the folders of its file."""
    path = frame.f_code.co_filename
    code = linecache.getline(path, number).strip()
    return SourceLine(PurePath(path).name, number, frame.f_code.co_name, code[:200])


def attribute(thing: Any, name: str, default: Any = None) -> Any:
    """An attribute of a thing of the user's, whose own `__getattr__` may raise any error for one that it lacks."""
    try:
        return getattr(thing, name, default)
    except Exception:
        return default


def signature_of(function: Any) -> inspect.Signature:
    """The signature of a function, or of a callable whose own `__getattr__` may raise any error."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        raise
    except Exception:  # it was asked for what it wraps
        return inspect.signature(type(function).__call__.__get__(function))


def first_line(function: Any) -> SourceLine | None:
    """The first line of a function, or of the class of a callable; None where it has no source."""
    found = attribute(function, "__func__", function)
    code = attribute(found, "__code__") or getattr(type(found).__call__, "__code__", None)
    return None if code is None else line_of(code, code.co_firstlineno)


def source_of(function: Any) -> str:
    """The source of a function; empty where nobody has it."""
    try:
        return inspect.getsource(function)
    except (TypeError, OSError):
        return ""


def writing_line(functions: Iterable[Any], name: Any) -> SourceLine | None:
    """The first line in some functions that binds a name: of an attribute, a closure's variable or a global."""
    for function in functions:
        starts, line = dict(dis.findlinestarts(function.__code__)), function.__code__.co_firstlineno
        for instruction in dis.get_instructions(function.__code__):
            line = starts.get(instruction.offset) or line
            if instruction.opname in _BINDING and instruction.argval == name:
                return line_of(function.__code__, line)
    return None


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """Some code, and what is defined inside of it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_in(constant)


def names_in(code: CodeType) -> list[str]:
    """The globals and the attributes that some code names, and what is defined inside of it."""
    return list(dict.fromkeys(name for each in codes_in(code) for name in each.co_names))


def stored_attributes(code: CodeType) -> frozenset[str]:
    """The attributes that some code sets or deletes, on whatever object."""
    lines = (line for each in codes_in(code) for line in dis.get_instructions(each))
    return frozenset(line.argval for line in lines if line.opname in ("STORE_ATTR", "DELETE_ATTR"))


_BINDING = ("STORE_ATTR", "STORE_DEREF", "STORE_GLOBAL")


def line_of(code: CodeType, number: int) -> SourceLine:
    """A line of a function, by its code."""
    text = linecache.getline(code.co_filename, number).strip()
    return SourceLine(PurePath(code.co_filename).name, number, code.co_name, text[:200])


def user_line() -> SourceLine | None:
    """The innermost line that belongs to the user, or None."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_users(frame.f_code.co_filename):
            return source_line(frame, frame.f_lineno)
        frame = frame.f_back
    return None


def asked_by(path: str) -> bool:
    """Whether the innermost frame outside of this package is of a given file."""
    frame = asking_frame()
    return frame is not None and frame.f_code.co_filename == path


def is_called_by_user() -> bool:
    """Whether the innermost frame outside of this package is the user's, and not torch's."""
    frame = asking_frame()
    return frame is not None and is_users(frame.f_code.co_filename)


def asking_frame() -> FrameType | None:
    """The innermost frame outside of this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(OURS):
        frame = frame.f_back
    return frame


def is_asked_by_user() -> bool:
    """Whether the user's code itself asked torch for what a `__torch_function__` hears, and not ours or torch's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "__torch_function__":
        frame = frame.f_back
    asking = frame and frame.f_back
    return asking is not None and is_users(asking.f_code.co_filename)


def running_instruction() -> str:
    """The name of the instruction that called this package, in the innermost frame outside of it."""
    frame = asking_frame()
    return "" if frame is None else dis.opname[frame.f_code.co_code[frame.f_lasti]]


def following_instruction() -> str:
    """The name of the instruction after the one that `running_instruction` names."""
    frame = asking_frame()
    return "" if frame is None else _next_instruction(frame)


def names_to_unpack() -> int | None:
    """Into how many values the instruction that called this package unpacks; None for any other instruction."""
    frame = asking_frame()
    if frame is None or dis.opname[frame.f_code.co_code[frame.f_lasti]] != "UNPACK_SEQUENCE":
        return None
    return next(each.arg for each in dis.get_instructions(frame.f_code) if each.offset == frame.f_lasti)


def is_unpacked() -> bool:
    """Whether the user's innermost line unpacks what it is about to get, as in ``a, b = x``."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return False
    return "UNPACK_SEQUENCE" in (dis.opname[frame.f_code.co_code[frame.f_lasti]], _next_instruction(frame))


def unpacks(error: BaseException) -> bool:
    """Whether the user's innermost line that an error passed unpacks something."""
    trace, found = error.__traceback__, ""
    while trace is not None:
        if is_users(trace.tb_frame.f_code.co_filename):
            found = dis.opname[trace.tb_frame.f_code.co_code[trace.tb_lasti]]
        trace = trace.tb_next
    return found == "UNPACK_SEQUENCE"


def _next_instruction(frame: FrameType) -> str:
    names = (dis.opname[each] for each in frame.f_code.co_code[frame.f_lasti + 2 :: 2])
    return next((name for name in names if name not in ("CACHE", "EXTENDED_ARG")), "")


def functions_in(thing: Any) -> Iterator[FunctionType]:
    """The functions of an attribute of a class."""
    match thing:
        case FunctionType():
            yield thing
        case staticmethod() | classmethod():
            yield from functions_in(thing.__func__)
        case property():
            for part in (thing.fget, thing.fset):
                yield from functions_in(part)


def decorated(function: FunctionType) -> Iterator[Any]:
    """What a function of a package wraps: the one that was decorated, and those that `singledispatch` chooses from."""
    held = vars(function)
    yield held.get("__wrapped__")
    if isinstance(registry := held.get("registry"), MappingProxyType):
        yield from registry.values()
