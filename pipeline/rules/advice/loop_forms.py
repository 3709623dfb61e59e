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


def _of_loop(tree: ast.AST, line: SourceLine) -> str:
    for node in ast.walk(tree):
        if isinstance(node, ast.For) and node.lineno == line.line:
            inside = list(_statements(node.body))
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
