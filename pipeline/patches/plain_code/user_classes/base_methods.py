"""Methods of bases that a method of a block asks for: ``super().name(…)``."""

from __future__ import annotations

import ast
from types import FunctionType
from typing import Any

from ..naming import MISSING
from ..plain_literals import UnplainError


class BaseMethods(ast.NodeTransformer):
    """Puts functions in the places of ``super().name``.

    Args:
        function: the method.

    Attributes:
        found: those functions, by the names that stand for them.
    """

    def __init__(self, function: FunctionType) -> None:
        self.code = function.__code__
        cells = dict(zip(self.code.co_freevars, function.__closure__ or (), strict=True))
        self.kind = content(cells["__class__"]) if "__class__" in cells else None
        self.found = dict[str, Any]()

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A call."""
        self.generic_visit(node)
        match node.func:
            case ast.Attribute(ast.Call(ast.Name("super"), []), name) if isinstance(self.kind, type):
                method = getattr(super(self.kind, self.kind), name, None)
                if method is object.__init__ and not node.args and not node.keywords:
                    return ast.copy_location(ast.Constant(None), node)
                if len(self.kind.__bases__) != 1 or not isinstance(method, FunctionType):
                    raise UnplainError(f"it asks for {ast.unparse(node.func)}")
                stands = f"B{len(self.found)}_{self.kind.__name__}"
                self.found[stands] = method
                own = ast.Name(self.code.co_varnames[0], ast.Load())
                call = ast.Call(ast.Name(stands, ast.Load()), [own, *node.args], node.keywords)
                return ast.fix_missing_locations(ast.copy_location(call, node))
        return node


def content(cell: Any) -> Any:
    """What a cell of a closure holds."""
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING
