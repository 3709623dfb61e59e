"""Imports among the statements of a block, and of its functions: their names mean what they would import."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from typing import Any

_MISSING = object()


def is_import(part: ast.AST) -> bool:
    """Whether a part of some statements imports something."""
    return isinstance(part, ast.Import | ast.ImportFrom | ast.alias)


def without_imports(lines: list[ast.stmt]) -> tuple[list[ast.stmt], dict[str, Any]]:
    """Statements without their imports, and what the names of those mean.

    An import stays, and is refused later, where it is of nothing that this process has imported, where it may bring
    more than what it names, or where its name is set by another statement, too.
    """
    imports = [part for line in lines for part in ast.walk(line) if isinstance(part, ast.Import | ast.ImportFrom)]
    set_elsewhere = {
        part.id
        for line in lines
        for part in ast.walk(line)
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)
    }
    known, gone = dict[str, Any](), set[int]()
    for each in imports:
        found = dict(_meant(each))
        alike = all(known.get(name, thing) is thing for name, thing in found.items())
        if alike and _MISSING not in found.values() and not found.keys() & set_elsewhere:
            known |= found
            gone.add(id(each))
    return [_Without(gone).visit(line) for line in lines] if gone else lines, known


def _meant(line: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Any]]:
    for each in line.names:
        if isinstance(line, ast.Import):
            root = each.name if each.asname else each.name.partition(".")[0]
            yield each.asname or root, sys.modules.get(root, _MISSING)
        else:
            module = sys.modules.get(line.module or "") if line.level == 0 else None
            yield each.asname or each.name, getattr(module, each.name, _MISSING)


class _Without(ast.NodeTransformer):
    """Puts `pass` in the place of some statements.

    Args:
        gone: their ids.
    """

    def __init__(self, gone: set[int]) -> None:
        self.gone = gone

    def visit(self, node: ast.AST) -> Any:
        if id(node) in self.gone:
            return ast.copy_location(ast.Pass(), node)
        return self.generic_visit(node)
