"""What a condition tells of variables that may be None: in the body of ``if start is not None``, `start` is not."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from .choice_expressions import called


def narrowed(test: ast.expr, names: Collection[str]) -> list[list[ast.stmt]]:
    """Statements that begin the two sides of a branch, and make a number or a text of what is not None there.

    Args:
        test: the condition.
        names: of the variables that may be set anew.
    """
    return [[_known(name, test) for name in sorted(_given(test, truth) & {*names})] for truth in (True, False)]


def _given(test: ast.expr, truth: bool) -> set[str]:
    """The variables that are not None where a condition has some truth."""
    match test:
        case ast.UnaryOp(ast.Not(), inner):
            return _given(inner, not truth)
        case ast.BoolOp(ast.And(), parts) if truth:
            return _of_all(parts, truth)
        case ast.BoolOp(ast.Or(), parts) if not truth:
            return _of_all(parts, truth)
        case ast.Compare(ast.Name(name), [ast.IsNot() | ast.NotEq()], [ast.Constant(None)]) if truth:
            return {name}
        case ast.Compare(ast.Name(name), [ast.Is() | ast.Eq()], [ast.Constant(None)]) if not truth:
            return {name}
        case ast.Name(name) if truth:
            return {name}
    return set()


def _of_all(parts: Sequence[ast.expr], truth: bool) -> set[str]:
    return {name for part in parts for name in _given(part, truth)}


def _known(name: str, place: ast.AST) -> ast.stmt:
    asked, stored = ast.Name(name, ast.Load()), ast.Name(name, ast.Store())
    found = ast.Assign([stored], called("not_none", place, asked))
    for part in (asked, stored, found):
        ast.copy_location(part, place)
    return ast.fix_missing_locations(found)
