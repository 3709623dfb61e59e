"""Lists and dicts that a side changes, as new ones: ``items.append(item)`` as ``items = [*items, item]``.

A side must not change what is outside of it. A list that another name has, too, is changed under that name no more,
which the replay finds where it matters.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from .choice_expressions import called
from .scoping import names_set, within


def changed_names(body: Sequence[ast.stmt], local: Collection[str]) -> set[str]:
    """The variables of a function whose lists and dicts some statements change."""
    found = {name for part in within(*body) if isinstance(part, ast.stmt) and (name := _changed(part))}
    return found & {*local}


def _changed(line: ast.stmt) -> str:
    match line:
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(name), "append"), [_], [])):
            return name
        case ast.Assign([ast.Subscript(ast.Name(name))]) | ast.AugAssign(ast.Subscript(ast.Name(name))):
            return name
    return ""


def rebound(body: list[ast.stmt], local: Collection[str]) -> list[ast.stmt]:
    """Statements that change no list and no dict but those that they make themselves."""
    own = {name for line in body for part in within(line) if isinstance(part, ast.Assign) for name in names_set([part])}
    changer = _Rebinding({*local} - own)
    return [changer.visit(line) for line in body]


class _Rebinding(ast.NodeTransformer):
    """Writes the changes of some variables anew."""

    def __init__(self, names: Collection[str]) -> None:
        self.names = names

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """A function inside stays."""
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """`items.append(item)`."""
        match node.value:
            case ast.Call(ast.Attribute(ast.Name(name) as items, "append"), [item], []) if name in self.names:
                return _made(name, called("with_item", node, items, item), node)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """`items[key] = item`."""
        match node:
            case ast.Assign([ast.Subscript(ast.Name(name), key)], value) if name in self.names:
                if not isinstance(key, ast.Slice):
                    items = ast.copy_location(ast.Name(name, ast.Load()), node)
                    return _made(name, called("with_entry", node, items, key, value), node)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """`total += value`, which adds to a list or a tensor in place."""
        match node.target:
            case ast.Name(name) if name in self.names:
                before = ast.copy_location(ast.Name(name, ast.Load()), node)
                return _made(name, ast.copy_location(ast.BinOp(before, node.op, node.value), node), node)
            case ast.Subscript(ast.Name(name), ast.Constant() | ast.Name() as key) if name in self.names:
                items = ast.copy_location(ast.Name(name, ast.Load()), node)
                entry = ast.copy_location(ast.Subscript(items, key, ast.Load()), node)
                value = ast.copy_location(ast.BinOp(entry, node.op, node.value), node)
                return _made(name, called("with_entry", node, items, key, value), node)
        return node


def _made(name: str, value: ast.expr, place: ast.stmt) -> ast.stmt:
    target = ast.copy_location(ast.Name(name, ast.Store()), place)
    return ast.copy_location(ast.Assign([target], value), place)
