"""Why a choice goes one way only: what refused a recording of both, in a phrase, with a form that goes both ways."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import partial

from ....ops.graph.errors import RecordError
from ....ops.graph.graph import SourceLine
from .branch_forms import form_of, holds

_UNLIKE = "the branches return different structures or dtypes"
OF_KINDS = "It cannot go both ways, since its sides give "
"""How the reason begins of a choice between values of two kinds."""
_FAILS = "a branch fails on the example"
_ITSELF = "a function calls itself on a side"
_RECURSION = "A loop that fills a list or a dict does, and so does the recursion without lru_cache"
_PLAIN = " in a plain value"
_OF_ONE = " of rank 0"
_OF_SHAPES = re.compile(r"\.(shape|size\(\)) [!=]= ")
_NUMBERS = frozenset(("float", "int"))
_OF_NUMPY = frozenset("float16 float32 float64 int8 int16 int32 int64 uint8".split())


def cause_of(error: RecordError, line: SourceLine) -> str:
    """Why a choice on a line cannot go both ways.

    Args:
        error: what refused to record both.
        line: of the choice.
    """
    what = error.what.removeprefix("cond: ").removeprefix("while_loop: ")
    if what == _UNLIKE:
        one, other = (str(each).removesuffix(_PLAIN) for each in (error.expected, error.got))
        written = form_of(line, partial(_of_one_kind, one, other))
        form = f"Write {written}" if written else error.fix or "Give the same kind of value on both"
        return f"{OF_KINDS}{one} and {other}. {form.rstrip('.')}"
    if what.startswith(_ITSELF) or (what.startswith(_FAILS) and "RecursionError" in what):
        return f"It cannot go both ways, since the function calls itself on one. {_RECURSION}"
    if what.startswith(_FAILS):
        side = what.removeprefix(_FAILS)
        return f"It cannot go both ways, since a side fails on the example{side}. Trace with one on which both run"
    return f"It cannot go both ways: {what}. {error.fix}".rstrip(". ")


def unfollowed(line: SourceLine) -> Iterator[tuple[str, str]]:
    """Why both ways of a line were recorded, and something is fixed all the same: by the reason of what fixes it.

    Args:
        line: of the choice.
    """
    if "[" in line.code:
        entries = "the entries of the table are of several types, or None among numbers. Give all one type"
        yield "it was used as a key", f"It cannot go both ways, since {entries}"
    if _OF_SHAPES.search(line.code):
        whole = "shapes are compared as a whole. Compare sizes: x.shape[0] == y.shape[0] for x.shape == y.shape"
        yield "a branch was taken on it", f"It cannot go both ways, since {whole}"


def _of_one_kind(one: str, other: str, tree: ast.AST, line: SourceLine) -> str:
    """The choice on a line with sides of one kind; empty where there is no such form.

    Args:
        one: what one side gives.
        other: what the other side gives.
        tree: of the file.
        line: of the choice.
    """
    found = [each for each in ast.walk(tree) if isinstance(each, ast.IfExp | ast.BoolOp) and holds(each, line.line)]
    if {one, other} == _NUMBERS:
        return _with_floats(tree, line, found)
    kinds = {each.removesuffix(_OF_ONE) for each in (one, other)}
    rows = {each.removesuffix(" of rank 1") for each in kinds}
    match found:
        case [ast.IfExp(test, body, orelse), *_] if len(rows) == 1 < len(kinds) and _is_simple(body, orelse):
            return ast.unparse(ast.IfExp(test, *(_row(each, side) for each, side in ((one, body), (other, orelse)))))
    if not kinds & _NUMBERS or not kinds <= _NUMBERS | _OF_NUMPY:
        return ""
    kind = "int" if all("int" in each for each in kinds) else "float"
    if found:
        return ast.unparse(_number(found[0], kind)) if _is_simple(*_sides(found[0])) else ""
    for each in ast.walk(tree):
        match each:
            case ast.If(body=[ast.Assign([ast.Name(name)], ast.Constant())], orelse=[]) if each.lineno == line.line:
                return f"{name} = {kind}({name}) before the line"
    return ""


def _row(kind: str, side: ast.expr) -> ast.expr:
    """A side as a tensor of one row, where it is one of rank 0."""
    if not kind.endswith(_OF_ONE):
        return side
    return ast.Call(ast.Attribute(side, "reshape"), [ast.Constant(1)], [])


def _with_floats(tree: ast.AST, line: SourceLine, found: Sequence[ast.expr]) -> str:
    """A choice between an int and a float: with a float for a constant."""
    if found:
        whole = [each for each in _sides(found[0]) if _is_whole(each)]
        return ast.unparse(_floating(found[0])) if whole and _is_simple(*_sides(found[0])) else ""
    for each in ast.walk(tree):
        match each:
            case ast.If(body=[ast.Assign([ast.Name(name)], ast.Constant(int() as number))], orelse=[]):
                if each.lineno == line.line:
                    return f"{name} = {float(number)} for {name} = {number}"
    return ""


def _is_whole(side: ast.expr) -> bool:
    return isinstance(side, ast.Constant) and type(side.value) is int


def _floating(value: ast.expr) -> ast.expr:
    match value:
        case ast.IfExp(test, one, other):
            return ast.IfExp(test, _floating(one), _floating(other))
        case ast.BoolOp(operator, values):
            return ast.BoolOp(operator, list(map(_floating, values)))
        case ast.Constant(int() as number):
            return ast.Constant(float(number))
    return value


def _sides(value: ast.expr) -> Iterator[ast.expr]:
    match value:
        case ast.IfExp(_, one, other):
            yield from (one, other)
        case ast.BoolOp(_, values):
            yield from values


def _is_simple(*sides: ast.expr) -> bool:
    """Whether sides are one value each, and no choices themselves."""
    return not any(isinstance(each, ast.IfExp | ast.BoolOp | ast.Compare | ast.Tuple | ast.List) for each in sides)


def _number(value: ast.expr, kind: str) -> ast.expr:
    match value:
        case ast.IfExp(test, one, other):
            return ast.IfExp(test, _number(one, kind), _number(other, kind))
        case ast.BoolOp(operator, values):
            return ast.BoolOp(operator, [_number(each, kind) for each in values])
        case ast.Constant(int() as number):
            return ast.Constant(float(number) if kind == "float" else number)
        case ast.Constant() | ast.Call(ast.Name("float" | "int")):
            return value
    return ast.Call(ast.Name(kind), [value], [])
