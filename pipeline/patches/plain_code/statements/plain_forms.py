"""Statements in the forms that a block knows: without annotations, and with calls for questions about classes."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from ..user_lines import parsed, same_place, written


def plainly(lines: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Statements without annotations and without texts that document them."""
    whole = _Unannotated().visit(ast.Module(parsed(written(lines, own=True)), []))
    found: list[ast.stmt] = whole.body
    return found


SAME = "is_same_object"
"""The function of a block that stands for ``is``."""
WITHOUT_GRADIENTS = "without_gradients"
"""The function of a text that stands for `with torch.no_grad():`, by what it is given."""
ASKED = (
    WITHOUT_GRADIENTS, SAME, "is_same_class", "is_exactly", "class_name", "class_asked", "base_method", "place_of",
)  # fmt: skip
"""Functions of a block that stand for forms of Python."""
_OF_OPERATORS = {
    "__getitem__": "lambda key, items=None: items[key]",
    "__contains__": "lambda key, items=None: key in items",
}


def _single(*parts: ast.expr) -> bool:
    return any(isinstance(each, ast.Constant) and each.value in (None, True, False) for each in parts)


def _class_asked(part: ast.expr) -> ast.expr | None:
    """Whose class ``type(thing)`` or ``thing.__class__`` asks for; None for another expression."""
    match part:
        case ast.Call(ast.Name("type"), [thing], []) | ast.Attribute(thing, "__class__"):
            return thing
    return None


def _class_of(thing: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Call(ast.Name("class_asked", ast.Load()), [thing], []), thing)


def _second(pair: tuple[ast.expr | None, ast.expr]) -> bool:
    """Puts the thing before the class that it is held against."""
    return pair[0] is None


class _Unannotated(ast.NodeTransformer):
    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """``x: int = 1`` as ``x = 1``."""
        self.generic_visit(node)
        return None if node.value is None else same_place(ast.Assign([node.target], node.value), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        """A function without annotations."""
        self.generic_visit(node)
        node.returns, node.body = None, [each for each in node.body if each is not None] or [ast.Pass()]
        return node

    def visit_arg(self, node: ast.arg) -> Any:
        """A parameter."""
        node.annotation = None
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """``scores.__getitem__`` as a function that asks ``scores`` for an entry."""
        match node:
            case ast.Attribute(inner, "__name__") if (thing := _class_asked(inner)) is not None:
                return ast.copy_location(ast.Call(ast.Name("class_name", ast.Load()), [self.visit(thing)], []), node)
        self.generic_visit(node)
        if node.attr == "__class__":
            return _class_of(node.value)
        form = _OF_OPERATORS.get(node.attr)
        if form is None or not isinstance(node.ctx, ast.Load):
            return node
        made = ast.parse(form, mode="eval").body
        assert isinstance(made, ast.Lambda)
        made.args.defaults = [node.value]
        return made

    def visit_Compare(self, node: ast.Compare) -> Any:
        """``state is State.IDLE`` as a call: only members of an Enum are compared by identity."""
        name, things = SAME, [node.left, *node.comparators]
        kinds = [_class_asked(each) for each in things]
        if len(things) == 2 and any(kinds) and isinstance(node.ops[0], ast.Is | ast.IsNot | ast.Eq | ast.NotEq):
            name = "is_same_class" if all(kinds) else "is_exactly"
            things = [kind or thing for kind, thing in sorted(zip(kinds, things, strict=True), key=_second)]
        elif len(things) != 2 or not isinstance(node.ops[0], ast.Is | ast.IsNot) or _single(*things):
            self.generic_visit(node)
            return node
        call = ast.Call(ast.Name(name, ast.Load()), [self.visit(each) for each in things], [])
        return call if isinstance(node.ops[0], ast.Is | ast.Eq) else ast.UnaryOp(ast.Not(), call)

    def visit_Call(self, node: ast.Call) -> Any:
        """``type(self)`` as a call of a function of the block."""
        thing = _class_asked(node)
        self.generic_visit(node)
        return node if thing is None else _class_of(node.args[0])

    def visit_With(self, node: ast.With) -> Any:
        """``with torch.no_grad():`` as its statements, after one that says so; any other one stays."""
        self.generic_visit(node)
        match node.items:
            case [ast.withitem(ast.Call(ast.Attribute(_, "no_grad" | "inference_mode") as asked, [], []), None)]:
                made = ast.Expr(ast.Call(ast.Name(WITHOUT_GRADIENTS, ast.Load()), [asked], []))
                return [same_place(made, node), *node.body]
        return node

    def visit_Expr(self, node: ast.Expr) -> Any:
        """A text alone, which documents something."""
        self.generic_visit(node)
        return None if isinstance(node.value, ast.Constant) else node
