"""Conditions on lists that a function has joined, as a reader needs them: on the lists that it is given."""

from __future__ import annotations

import ast

_JOIN = "cat_strings"
_TURNED = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}


def without_joins(tree: ast.expr) -> ast.expr:
    """A condition with its joins as Python has them, and lengths of them as conditions on what they are made of.

    Example:
        >>> ast.unparse(without_joins(ast.parse("len(cat_strings([3], xs)) >= 2", mode="eval").body))
        'len(xs) >= 1'
    """
    made: ast.expr = _Joins().visit(tree)
    return made


class _Joins(ast.NodeTransformer):
    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """A comparison of a length with a number."""
        joined = any(isinstance(part, ast.Name) and part.id == _JOIN for part in ast.walk(node))
        self.generic_visit(node)
        match node:
            case ast.Compare(ast.Constant(), [operator], [other]):
                node = ast.Compare(other, [_TURNED.get(type(operator), type(operator))()], [node.left])
        match node.left, node.comparators if joined else ():
            case ast.BinOp(left, ast.Add(), ast.Constant(int(more))), [ast.Constant(int(than))]:
                return ast.Compare(left, node.ops, [ast.Constant(than - more)])
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """A join, or a length of one: that of its parts, the number last."""
        self.generic_visit(node)
        match node:
            case ast.Call(ast.Name(name), [one, other]) if name == _JOIN:
                if _is_empty(one) or _is_empty(other):
                    return other if _is_empty(one) else one
                return ast.BinOp(one, ast.Add(), other)
            case ast.Call(ast.Name("len"), [ast.BinOp() as parts]):
                return _length(parts)
        return node


def _is_empty(part: ast.expr) -> bool:
    return isinstance(part, ast.List) and not part.elts


def _length(joined: ast.expr) -> ast.expr:
    """The length of a join."""
    waiting, known, others = [joined], 0, list[ast.expr]()
    while waiting:
        match waiting.pop():
            case ast.BinOp(one, ast.Add(), other):
                waiting += [other, one]
            case ast.List(parts) | ast.Tuple(parts):
                known += len(parts)
            case part:
                others.append(ast.Call(ast.Name("len", ast.Load()), [part], []))
    found = [*others, *([ast.Constant(known)] if known or not others else [])]
    made = found[0]
    for each in found[1:]:
        made = ast.BinOp(made, ast.Add(), each)
    return made
