"""Numbers of a tensor that a block asks for one by one, ``float(x[i])``, as items of the list of its numbers."""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Mapping
from typing import Any

import torch

_NUMBERS = ("float", "int", "bool")


class TensorItems(ast.NodeTransformer):
    """Puts lists and sizes in the places of tensors, where nothing else is asked of them.

    Args:
        values: what the variables of some statements are before.
        written: the variables that they set.

    Attributes:
        sizes: names that stand for sizes: the tensor of each, and the dimension.
    """

    def __init__(self, values: Mapping[str, Any], written: Collection[str]) -> None:
        named = {name: thing for name, thing in values.items() if name not in written}
        self.tensors = {name: thing for name, thing in named.items() if type(thing) is torch.Tensor and thing.dim()}
        self.sizes = dict[str, tuple[str, int]]()
        self.counters, self.whole = set[str](), set[str]()

    def replaced(self, tree: ast.Module) -> tuple[ast.Module, dict[str, torch.Tensor]]:
        """Some statements, and the tensors that are lists in them; all others stay."""
        if not self.tensors:
            return tree, {}
        self.counters = _counters(tree)
        tried = self.visit(copy.deepcopy(tree))
        names = [part for part in ast.walk(tried) if isinstance(part, ast.Name)]
        self.whole = {part.id for part in names if not getattr(part, "of_list", False)}  # no list would do for them
        made: ast.Module = self.visit(tree) if self.whole & {*self.tensors} else tried
        return made, {name: thing for name, thing in self.tensors.items() if name not in self.whole}

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """``float(x[i])``, ``x[i].item()`` and ``len(x)``."""
        match node:
            case ast.Call(ast.Name(name), [ast.Subscript() as item], []) if name in _NUMBERS and self._is_item(item):
                return ast.copy_location(ast.Call(node.func, [self._number(item)], []), node)
            case ast.Call(ast.Attribute(ast.Subscript() as item, "item"), [], []) if self._is_item(item):
                return self._number(item)
            case ast.Call(ast.Name("len"), [ast.Name(name)], []) if name in self.tensors:
                return self._size(name, 0, node)
            case ast.Call(ast.Attribute(ast.Name(name), "size"), [ast.Constant(int(place))], []):
                return self._size(name, place, node) if name in self.tensors else node
        self.generic_visit(node)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """``x.shape[0]``."""
        match node:
            case ast.Subscript(ast.Attribute(ast.Name(name), "shape"), ast.Constant(int(place))):
                return self._size(name, place, node) if name in self.tensors else node
        self.generic_visit(node)
        return node

    def _size(self, name: str, place: int, node: ast.AST) -> ast.AST:
        if not -self.tensors[name].dim() <= place < self.tensors[name].dim():
            return node  # Python's own error
        made = f"H{len(self.sizes)}_{name}"
        self.sizes[made] = name, place
        return ast.copy_location(ast.Name(made, ast.Load()), node)

    def _is_whole(self, place: ast.expr) -> bool:
        """Whether an expression is a whole number, and never True or False."""
        match place:
            case ast.Constant(value):
                return type(value) is int
            case ast.Name(name):
                return name in self.counters
            case ast.UnaryOp(ast.USub(), inner):
                return self._is_whole(inner)
            case ast.BinOp(_, ast.Add() | ast.Sub() | ast.Mult() | ast.FloorDiv() | ast.Mod()) | ast.Call(
                ast.Name("len" | "int")
            ):
                return True
        return False

    def _is_item(self, node: ast.expr) -> bool:
        while isinstance(node, ast.Subscript):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if any(isinstance(each, ast.Slice | ast.Starred) or _is_ellipsis(each) for each in parts):
                return False
            node = node.value
        return isinstance(node, ast.Name) and node.id in self.tensors and node.id not in self.whole

    def _number(self, node: ast.Subscript) -> ast.expr:
        """An item, which is another object each time: containers tell two NaNs apart by that."""
        found, name = self._item(node), next(each.id for each in ast.walk(node.value) if isinstance(each, ast.Name))
        if not self.tensors[name].dtype.is_floating_point:
            return found
        return ast.copy_location(ast.BinOp(found, ast.Mult(), ast.Constant(1.0)), node)

    def _item(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Name):
            made = ast.copy_location(ast.Name(node.id, ast.Load()), node)
            made.of_list = True  # type: ignore[attr-defined]  # a mark of ours
            return made
        assert isinstance(node, ast.Subscript)
        found = self._item(node.value)
        for each in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
            place = self.visit(each)
            if not self._is_whole(each):
                place = ast.copy_location(ast.Call(ast.Name("place_of", ast.Load()), [place], []), node)
            found = ast.copy_location(ast.Subscript(found, place, ast.Load()), node)
        return found


def _is_ellipsis(part: ast.expr) -> bool:
    return isinstance(part, ast.Constant) and part.value is ...


def _counters(tree: ast.AST) -> set[str]:
    """The variables that count in loops over ``range(…)`` and ``enumerate(…)``, and are set nowhere else."""
    found, counting = list[str](), set[int]()
    for part in ast.walk(tree):
        match part:
            case (ast.For() | ast.comprehension()) as loop:
                match loop.target, loop.iter:
                    case (ast.Name() as name, ast.Call(ast.Name("range"))) | (
                        ast.Tuple([ast.Name() as name, *_]), ast.Call(ast.Name("enumerate"), [_], [])
                    ):  # fmt: skip
                        counting.add(id(name))
            case ast.arg(name):
                found.append(name)
    stored = [part for part in ast.walk(tree) if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)]
    others = {*found, *(each.id for each in stored if id(each) not in counting)}
    return {each.id for each in stored if id(each) in counting} - others
