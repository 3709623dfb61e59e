"""Batches of tokenizer ops in a block, which has them as dicts: ``enc.input_ids`` becomes ``enc["input_ids"]``.

Such an op itself is called before the block, as any op of a recording, unless it is given what the block sets.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from .....ops.runtime.user_code import attribute
from .....ops.tokenizer.batch import TokenBatch
from .....ops.tokenizer_op import TokenizerOp
from ...source.scoping import names_set
from ..statements.hoisting import Part


class TokenBatches:
    """The batches that a block is given.

    Args:
        values: what its variables are before.
        parts: what is evaluated before it.
        tree: its statements.

    Attributes:
        values: the same with a dict in place of each batch.
        parts: the same, too.
    """

    def __init__(self, values: Mapping[str, Any], parts: Mapping[str, Part], tree: ast.Module) -> None:
        found = {name: thing for name, thing in values.items() if isinstance(thing, TokenBatch)}
        early = {name: thing for name, (_, give) in parts.items() if isinstance(thing := give(), TokenBatch)}
        made = {id(each): dict(each) for each in (*found.values(), *early.values())}
        self.values = {**values, **{name: made[id(each)] for name, each in found.items()}}
        tables = {name: made[id(each)] for name, each in early.items()}
        self.parts = {n: (part[0], lambda n=n: tables[n]) if n in tables else part for n, part in parts.items()}
        changed = names_set(tree.body)
        self._known = {name: made[id(each)] for name, each in found.items() if name not in changed} | tables
        self._known |= {name: tables[given] for name, given in _set_once(tree) if given in tables}

    def replaced(self, tree: ast.Module) -> ast.Module:
        """The statements with the columns of batches in place of their attributes, and one by one after `**`."""
        return _Columns(self._known).visit(tree) if self._known else tree


def tokenizes(part: ast.AST, values: Mapping[str, Any]) -> bool:
    """Whether an expression calls the op of a tokenizer itself, once: not in a helper, nor for each item of a list.

    Args:
        part: the expression.
        values: what the names in it mean.
    """
    if isinstance(part, ast.Lambda | ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp):
        return False
    if isinstance(part, ast.Call) and isinstance(_meant(part.func, values), TokenizerOp):
        return True
    return any(
        tokenizes(each, values) for each in ast.iter_child_nodes(part) if isinstance(each, ast.expr | ast.keyword)
    )


def _meant(part: ast.expr, values: Mapping[str, Any]) -> Any:
    match part:
        case ast.Name(name):
            return values.get(name)
        case ast.Attribute(held, name):
            return attribute(_meant(held, values), name)
    return None


def _set_once(tree: ast.Module) -> list[tuple[str, str]]:
    """The variables that one assignment alone sets, to another variable, with that one's name."""
    stores = [part.id for part in ast.walk(tree) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]
    found = list[tuple[str, str]]()
    for line in ast.walk(tree):
        match line:
            case ast.Assign([ast.Name(name)], ast.Name(given)) if stores.count(name) == 1:
                found.append((name, given))
    return found


class _Columns(ast.NodeTransformer):
    def __init__(self, known: Mapping[str, Mapping[str, Any]]) -> None:
        self.known = known

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """A column, where one has the attribute's name."""
        match node:
            case ast.Attribute(ast.Name(name), column, ast.Load()) if column in self.known.get(name, ()):
                return ast.copy_location(_column(name, column), node)
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """A call with the columns as keywords."""
        self.generic_visit(node)
        keywords = list[ast.keyword]()
        for each in node.keywords:
            match each:
                case ast.keyword(None, ast.Name(name)) if name in self.known:
                    keywords += [ast.keyword(column, _column(name, column)) for column in self.known[name]]
                case _:
                    keywords.append(each)
        node.keywords = keywords
        return node


def _column(name: str, column: str) -> ast.Subscript:
    return ast.Subscript(ast.Name(name, ast.Load()), ast.Constant(column), ast.Load())
