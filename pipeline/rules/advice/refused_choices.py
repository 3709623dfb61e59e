"""Why a choice goes one way only: what refused a recording of both, in a phrase, with a form that goes both ways."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from ....ops.graph.errors import RecordError
from ....ops.graph.graph import SourceLine
from .branch_forms import form_of, holds

_UNLIKE = "the branches return different structures or dtypes"
_FAILS = "a branch fails on the example"
_PLAIN = " in a plain value"
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
        kinds = {each.removesuffix(" of rank 0") for each in (one, other)}
        kind = "int" if all("int" in each for each in kinds) else "float"
        numbers = _are_numbers(kinds) and form_of(line, partial(_as_numbers, kind))
        form = f"Write {numbers}" if numbers else error.fix or "Give the same kind of value on both"
        return f"It cannot go both ways, since its sides give {one} and {other}. {form.rstrip('.')}"
    if what.startswith(_FAILS):
        side = what.removeprefix(_FAILS)
        return f"It cannot go both ways, since a side fails on the example{side}. Trace with one on which both run"
    return f"It cannot go both ways: {what}. {error.fix}".rstrip(". ")


def _are_numbers(kinds: set[str]) -> bool:
    """Whether sides give a number of Python, and one of numpy or a tensor of one element."""
    return bool(kinds & _NUMBERS) and kinds <= _NUMBERS | _OF_NUMPY


def _as_numbers(kind: str, tree: ast.AST, line: SourceLine) -> str:
    """The choice on a line, between numbers of Python."""
    found = [each for each in ast.walk(tree) if isinstance(each, ast.IfExp | ast.BoolOp) and holds(each, line.line)]
    if found:
        return ast.unparse(_number(found[0], kind)) if all(map(_is_simple, _sides(found[0]))) else ""
    for each in ast.walk(tree):
        match each:
            case ast.If(body=[ast.Assign([ast.Name(name)], ast.Constant())], orelse=[]) if each.lineno == line.line:
                return f"{name} = {kind}({name}) before the line"
    return ""


def _sides(value: ast.expr) -> Iterator[ast.expr]:
    match value:
        case ast.IfExp(_, one, other):
            yield from (one, other)
        case ast.BoolOp(_, values):
            yield from values


def _is_simple(side: ast.expr) -> bool:
    """Whether a side is one number, and no choice itself."""
    return not isinstance(side, ast.IfExp | ast.BoolOp | ast.Compare | ast.Tuple | ast.List | ast.Dict)


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
