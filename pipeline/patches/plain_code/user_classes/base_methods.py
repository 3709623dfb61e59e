"""Methods of bases that a method of a block asks for: ``super().name(…)``."""

from __future__ import annotations

import ast
from types import FunctionType
from typing import Any

from ..naming import MISSING
from ..plain_literals import UnplainError

ASKING = "base_method"
"""The function of a block that gives them."""


class BaseMethods(ast.NodeTransformer):
    """Puts calls of that function in the places of ``super().name``.

    Args:
        function: the method.

    Attributes:
        found: its class, by the name that stands for it.
    """

    def __init__(self, function: FunctionType) -> None:
        self.code = function.__code__
        cells = dict(zip(self.code.co_freevars, function.__closure__ or (), strict=True))
        self.kind = content(cells["__class__"]) if "__class__" in cells else None
        self.found, self.depth = dict[str, Any](), 0

    def visit_GeneratorExp(self, node: ast.AST) -> ast.AST:
        """A function of its own, whose first parameter is another one: Python finds no object there."""
        if any(isinstance(part, ast.Name) and part.id == "super" for part in ast.walk(node)):
            raise UnplainError("it asks for super() in a function inside of a method")
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_Lambda = visit_GeneratorExp

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """The method itself, or a function in it."""
        self.depth += 1
        found: ast.AST = self.visit_GeneratorExp(node) if self.depth > 1 else self.generic_visit(node)
        self.depth -= 1
        return found

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """An attribute."""
        self.generic_visit(node)
        match node.value:
            case ast.Call(ast.Name("super"), []) if isinstance(self.kind, type) and isinstance(node.ctx, ast.Load):
                if not self.code.co_argcount:
                    raise UnplainError(f"it asks for {ast.unparse(node)}")
                stands = f"B0_{self.kind.__name__}"
                self.found[stands] = self.kind
                own = ast.Name(self.code.co_varnames[0], ast.Load())
                given = [ast.Name(stands, ast.Load()), own, ast.Constant(node.attr)]
                call = ast.Call(ast.Name(ASKING, ast.Load()), given, [])
                return ast.fix_missing_locations(ast.copy_location(call, node))
        return node


def content(cell: Any) -> Any:
    """What a cell of a closure holds."""
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING
