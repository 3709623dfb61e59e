"""What to write in place of a loop that keeps the length of the example, by what its body does."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....ops.graph.graph import SourceLine
from .branch_forms import form_of

_RETURNS = "A variable that is set before `break`, and returned after the loop, keeps it free"
_LOOKS = "next((value for … if …), default) in place of the inner loop with its `else` keeps it free"


def loop_form(line: SourceLine | None) -> str:
    """A form that keeps the length of a loop free; empty where there is none in particular."""
    return form_of(line, _of_loop)


_FIRST = (
    "A variable that is set once, `if … and not found:`, and returned after both loops, for `return` inside "
    "keeps it free"
)
_ELSE = "A variable that is set before the loop, in place of its `else`, keeps it free"
_ROUNDS = (
    "A for loop over the list, the rows or a range, or tracepack.while_loop, keeps it free; so do while loops whose "
    "variables have values of one type before they begin"
)
_CHAINED = "Two comparisons with `and` in place of one in a row keep it free"


def of_rounds(line: SourceLine | None) -> str:
    """What keeps the number of rounds of a `while` loop free that Python ran."""
    return form_of(line, _of_while) or _ROUNDS


def _of_while(tree: ast.AST, line: SourceLine) -> str:
    for node in ast.walk(tree):
        if isinstance(node, ast.While) and node.lineno == line.line:
            if node.orelse:
                return _ELSE
            if any(isinstance(each, ast.Compare) and len(each.ops) > 1 for each in ast.walk(node.test)):
                return _CHAINED
            return _RETURNS if any(isinstance(each, ast.Return) for each in _statements(node.body)) else ""
    return ""


def of_return(line: SourceLine | None) -> str:
    """What keeps both ways of a branch that returns from a loop over constants, which have a name."""
    return form_of(line, _of_return)


def _of_return(tree: ast.AST, line: SourceLine) -> str:
    for node in ast.walk(tree):
        match node:
            case ast.For(target, ast.Name(name), body) if any(_returns_on(each, line) for each in _statements(body)):
                loop = f"for {ast.unparse(target)} in (…):"
                kept = "set a variable once, `if … and not found:`, and return it after the loop"
                return f"Write the constants of {name} in the loop itself, {loop} goes both ways; or {kept}."
    return ""


def _returns_on(statement: ast.stmt, line: SourceLine) -> bool:
    """Whether a statement is the branch of a line, and returns."""
    if not isinstance(statement, ast.If) or statement.test.lineno != line.line:
        return False
    return any(isinstance(each, ast.Return) for each in _statements(statement.body))


def of_set(line: SourceLine | None) -> str:
    """The set that a line goes through, in an order that does not differ from run to run; empty where there is none."""
    return form_of(line, _of_set)


def _of_set(tree: ast.AST, line: SourceLine) -> str:
    loops = [each for each in ast.walk(tree) if isinstance(each, ast.For | ast.comprehension)]
    found = [each.iter for each in loops if each.iter.lineno == line.line and _makes_set(each.iter)]
    return f"sorted({ast.unparse(found[0])})" if len(found) == 1 else ""


def _makes_set(value: ast.expr) -> bool:
    match value:
        case ast.Call(ast.Name("set" | "frozenset")) | ast.Set() | ast.SetComp():
            return True
        case ast.BinOp(left, ast.BitAnd() | ast.BitOr() | ast.Sub(), right):
            return _makes_set(left) or _makes_set(right)
    return False


def _of_loop(tree: ast.AST, line: SourceLine) -> str:
    for node in ast.walk(tree):
        if isinstance(node, ast.For) and node.lineno == line.line:
            inside = list(_statements(node.body))
            if node.orelse:
                return _ELSE
            nested = [each for each in inside if isinstance(each, ast.For)]
            if any(isinstance(each, ast.Return) for loop in nested for each in _statements(loop.body)):
                return _FIRST
            if any(isinstance(each, ast.For) and each.orelse for each in inside):
                return _LOOKS
            return _RETURNS if any(isinstance(each, ast.Return) for each in inside) else ""
    return ""


def _statements(block: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a block and of those in it, but not of functions."""
    for each in block:
        yield each
        if not isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for name in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(each, name, []))
