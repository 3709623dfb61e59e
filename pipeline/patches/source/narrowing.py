"""What a condition tells of variables that may be None: in the body of ``if start is not None``, `start` is not."""

from __future__ import annotations

import ast
from collections.abc import Collection

from .choice_expressions import called
from .scoping import not_none


def narrowed(test: ast.expr, names: Collection[str]) -> list[list[ast.stmt]]:
    """Statements that begin the two sides of a branch, and make a number or a text of what is not None there.

    Args:
        test: the condition.
        names: of the variables that may be set anew.
    """
    return [[_known(name, test) for name in sorted(not_none(test, truth) & {*names})] for truth in (True, False)]


def _known(name: str, place: ast.AST) -> ast.stmt:
    asked, stored = ast.Name(name, ast.Load()), ast.Name(name, ast.Store())
    found = ast.Assign([stored], called("not_none", place, asked))
    for part in (asked, stored, found):
        ast.copy_location(part, place)
    return ast.fix_missing_locations(found)
