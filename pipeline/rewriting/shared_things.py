"""Why a loop that fills something is no block: another name shares it. The line that shares it, and what to write.

A block begins with a copy of what its function has made, so that no other name may have that: in Python a change shows
under each of them.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import PurePath
from types import FunctionType

from ...ops.graph.errors import RecordError, add_place
from ...ops.runtime.primitives.plain_code.block_tensors import WRITING
from ...ops.runtime.primitives.plain_code.language import MUTATES
from ..patches.plain_code.statements.beginnings import viewed
from ..patches.source.changed_containers import bound_names
from ..patches.source.scoping import names_read
from .asked_lines import places_in

NOT_OWN = "that is not its own"
_COPY = {"a tensor": "clone", "an array": "copy", "a container": "copy"}


def tells_shared(functions: Sequence[FunctionType], error: RecordError, why: str) -> bool:
    """Whether a line shares what a loop fills: then its refusal says so.

    Args:
        functions: those of the user's.
        error: the refusal of the loop, which is changed.
        why: why it is no block.
    """
    thing = next((each for each in _COPY if f"{each} {NOT_OWN}" in why), "")
    for file, number in places_in(error) if thing else ():
        for body in _bodies(functions, file, number):
            place = next(n for n, line in enumerate(body) if line.lineno <= number <= (line.end_lineno or 0))
            if found := _shared(body, place, _COPY[thing]):
                line, form = found
                error.what = (
                    f"{thing} is filled or changed that another name has, too: line {line.lineno}, {ast.unparse(line)}"
                )
                error.fix = f"Write {form}."
                add_place(error, "")
                return True
    return False


def _bodies(functions: Sequence[FunctionType], file: str, number: int) -> Iterator[list[ast.stmt]]:
    """The statements of the function that a line is in, the innermost one first."""
    paths = {each.__code__.co_filename for each in functions}
    for path in paths:
        if PurePath(path).name == file:
            found = [
                part.body
                for part in ast.walk(_parsed("".join(linecache.getlines(path))))
                if isinstance(part, ast.FunctionDef) and part.body[0].lineno <= number <= (part.end_lineno or 0)
            ]
            yield from reversed(found)


@lru_cache(8)
def _parsed(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):  # no source of Python
        return ast.Module([], [])


def _shared(body: Sequence[ast.stmt], place: int, copy: str) -> tuple[ast.stmt, str] | None:
    """The statement before a loop that shares what it fills, and the form that does without."""
    filled = {*_filled(body[place])} - {*_numbers(body[:place])}
    inside, after = names_read([body[place]]), names_read(body[place + 1 :])
    for line in reversed(body[:place]):
        for target, value in bound_names(line):
            source = ast.unparse(value)
            if target.id in filled and (viewed(line) or _is_part(value)):
                whole = names_read([value]) & after
                back = f", and {source} = {target.id} after the loop" if whole else ""
                return line, f"{target.id} = {source}.{copy}(){back}"
            if target.id not in filled and (name := next(iter(sorted(_names(value) & filled)), "")):
                if target.id not in inside:
                    kept = _copied(value, name, copy)
                    return (
                        line,
                        f"{target.id} = {kept} to keep what {name} is there, or {target.id} = {source} after the loop",
                    )
                return line, f"{name} for {target.id} in the loop, and leave that line out"
    return None


def _filled(loop: ast.stmt) -> Iterator[str]:
    """The variables whose things a loop changes."""
    for part in ast.walk(loop):
        match part:
            case ast.AugAssign(ast.Name(name)):
                yield name
            case ast.Subscript(value=ast.Name(name), ctx=ast.Store() | ast.Del()):
                yield name
            case ast.Call(ast.Attribute(ast.Name(name), method)) if method in WRITING or method in MUTATES:
                yield name


def _numbers(lines: Sequence[ast.stmt]) -> Iterator[str]:
    """The variables that some statements set to constants, which nobody fills."""
    for name, value in (pair for line in lines for pair in bound_names(line)):
        if isinstance(value, ast.Constant):
            yield name.id


def _names(value: ast.expr) -> set[str]:
    """The variables whose things an expression gives another name, whole, in part, or in a container."""
    match value:
        case ast.Name(name):
            return {name}
        case ast.Tuple(parts) | ast.List(parts) | ast.Dict(_, parts):
            return {name for each in parts for name in _names(each)}
        case ast.IfExp(_, one, other):
            return {*_names(one), *_names(other)}
        case ast.Call(ast.Name(), args):
            return {each.id for each in args if isinstance(each, ast.Name)}
    name = viewed(ast.Assign([ast.Name("", ast.Store())], value))
    return {name} if name else set()


def _is_part(value: ast.expr) -> bool:
    """Whether an expression gives what something else has: a variable, or an entry of one."""
    return isinstance(value, ast.Name | ast.Attribute | ast.Subscript)


def _copied(value: ast.expr, name: str, copy: str) -> str:
    """An expression with a copy in place of a variable."""
    found = ast.parse(ast.unparse(value), mode="eval").body
    for part in ast.walk(found):
        if isinstance(part, ast.Name) and part.id == name:
            part.id = f"{name}.{copy}()"  # as a text it is the call
    return ast.unparse(found)
