"""Which constant containers a block of plain Python may change: a run refuses that, since nothing keeps state there."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..primitives.plain_code.allowed import checked
from ..primitives.plain_code.language import MUTATES


def changed_constants(text: str) -> list[str]:
    """The lines of a block that change a container which is a constant of it, as they stand in the user's file."""
    tree = checked(text)
    constants = {
        target.id
        for line in tree.body
        if isinstance(line, ast.Assign) and isinstance(line.value, ast.List | ast.Dict | ast.Set)
        for target in line.targets
        if isinstance(target, ast.Name)
    }
    numbers = sorted(number for node in ast.walk(tree) for number in _changing(node, constants))
    return list(dict.fromkeys(text.splitlines()[number - 1].partition("  # ")[2] for number in numbers))


def _changing(node: ast.AST, constants: set[str]) -> Iterator[int]:
    """The number of the line, where a part of code changes one of some containers."""
    match node:
        case ast.Subscript(ast.Name(name), ctx=ast.Store() | ast.Del()) if name in constants:
            yield node.lineno
        case ast.Call(ast.Attribute(ast.Name(name), method)) if name in constants and method in MUTATES:
            yield node.lineno
