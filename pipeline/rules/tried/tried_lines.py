"""Lines whose errors the function itself catches: a recording holds no `except`, nor `suppress`."""

from __future__ import annotations

import ast
import builtins
import linecache
import struct
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import PurePath
from types import FrameType
from typing import Any

from ....ops.graph.graph import SourceLine
from ....ops.graph.operators.names import MATH
from ....ops.runtime.user_code import is_users, source_line, user_line
from ...proxies.base import is_traced
from .suppressed_errors import as_tries

DIVISIONS = ("truediv", "floordiv", "mod", "divmod")
_ENTRY = __name__.replace("rules.tried.tried_lines", "trace")
"""The module that calls the function; what stands around that call catches nothing of it."""
_RAISES: dict[str, type[Exception]] = {
    **dict.fromkeys(
        ("int", "float", "index", "str_index", "str_rindex", "date", "max", "min", "best_by", *MATH), ValueError
    ),
    **dict.fromkeys(("statistics", "ord", "encode", "decode", "from_hex", "b64decode", "bytes"), ValueError),
    **dict.fromkeys(("pack", "unpack"), struct.error),
    **dict.fromkeys(DIVISIONS, ZeroDivisionError),
    "lookup": KeyError,
    "getitem": IndexError,
    "decimal": ArithmeticError,
}
"""The operators whose errors people catch, and which they raise."""
_BASES = (ValueError, ArithmeticError)
"""Those of which operators raise classes of their own, too."""
CAUGHT = ", which it catches itself"
"""How the reasons of guards end on whose failure the function goes on."""


def line_of_scalar(name: str, args: tuple[Any, ...]) -> SourceLine | None:
    """The line of an operator of Python, as `tried_line` gives it.

    Args:
        name: that of the operator.
        args: what it is given.
    """
    error = _RAISES.get(name)
    by_constant = name in DIVISIONS and not is_traced(args[1]) and bool(args[1])
    if error is None or by_constant:
        return user_line()
    if name == "getitem" and (line := user_line()) is not None and "next(" in line.code:
        error = StopIteration
    return tried_line(error)


class TriedLine(SourceLine):
    """A line that is called by what a `try` with an `except` holds."""


def tried_line(error: str | type[Exception] = "", callers_only: bool = False) -> SourceLine | None:
    """The innermost line of the user: one of `TriedLine` where a function around it catches what it raises.

    Args:
        error: the class of that, or its name; empty where any may be raised.
        callers_only: whether what its own function tries is left out.
    """
    line, raised = None, None
    for frame in _users_frames():
        if line is None:
            line, raised = source_line(frame, frame.f_lineno), _meant(error, frame)
            if callers_only:
                continue
        if any(_catches(frame, kinds, error, raised) for kinds in _kinds_around(frame)):
            return TriedLine(line.file, line.line, line.function, line.code)
    return line


def _users_frames() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") != _ENTRY:
        if is_users(frame.f_code.co_filename):
            yield frame
        frame = frame.f_back


def _kinds_around(frame: FrameType) -> Iterator[tuple[str, ...]]:
    """What the handlers around the line of a frame catch, one by one."""
    code = frame.f_code
    for first, last, _, kinds in _tried(code.co_filename):
        own = code.co_firstlineno < first or code.co_name in _INLINE  # what a `try` defines runs elsewhere
        if own and first <= frame.f_lineno <= last:
            yield kinds


_INLINE = ("<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>", "<module>")


def _catches(frame: FrameType, kinds: tuple[str, ...], error: Any, raised: Any) -> bool:
    """Whether handlers catch an error; those of classes that nobody knows do."""
    if not error:
        return True
    for kind in map(_meant, kinds, [frame] * len(kinds)):
        if (
            raised is None
            or kind is None
            or issubclass(raised, kind)
            or (raised in _BASES and issubclass(kind, raised))
        ):
            return True
    return False


def _meant(name: str | type[Exception], frame: FrameType) -> type[BaseException] | None:
    """The class of errors that a name means in a frame, as far as it is known."""
    if not isinstance(name, str):
        return name
    first, *others = name.split(".")
    found = frame.f_locals.get(first, frame.f_globals.get(first, getattr(builtins, first, None)))
    for each in others:
        found = getattr(found, each, None)
    return found if isinstance(found, type) and issubclass(found, BaseException) else None


def tries_around(line: SourceLine) -> list[bool]:
    """The `try` statements around a line that catch something, as far as its source is known: whether in a loop."""
    known = [path for path in list(linecache.cache) if PurePath(path).name == line.file]
    known = [path for path in known if linecache.getline(path, line.line).strip()[:200] == line.code]
    return [looped for path in known for first, last, looped, _ in _tried(path) if first <= line.line <= last]


@lru_cache(maxsize=64)
def _tried(path: str) -> list[tuple[int, int, bool, tuple[str, ...]]]:
    """The lines of what each `try` of a file tries, whether it stands in a loop, and the names of what it catches."""
    try:
        source = "".join(linecache.getlines(path))
        tree = as_tries(ast.parse(source), source)
    except SyntaxError:  # it is being edited, or no Python
        return []
    looped = {inner for node in ast.walk(tree) if isinstance(node, ast.For) for inner in ast.walk(node)}
    tries = [node for node in ast.walk(tree) if isinstance(node, ast.Try) and node.handlers]
    return [(*_ends(node.body), node in looped, _caught_by(node)) for node in tries]


def _ends(lines: list[ast.stmt]) -> tuple[int, int]:
    return lines[0].lineno, lines[-1].end_lineno or lines[-1].lineno


def _caught_by(node: ast.Try) -> tuple[str, ...]:
    kinds = [each.type for each in node.handlers]
    parts = [part for each in kinds for part in (each.elts if isinstance(each, ast.Tuple) else [each])]
    return tuple("BaseException" if each is None else ast.unparse(each) for each in parts)
