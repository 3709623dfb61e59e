"""Says where a block of plain Python may give None, whose result on the example the recording relies on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ...ops.graph.graph import Graph, Node, Operator
from ...ops.graph.operators.names import CODE
from ...ops.graph.traverse import walk

_DEEPEST = 20


def missing_results(graph: Graph) -> Iterator[str]:
    """A line for each block that may give None in place of what it gives on the example."""
    for node in walk(graph):
        if node.target == Operator(CODE) and node.line is not None and _may_miss(node):
            yield (
                f"{node.line}: a run in which this gives None ends with an error, since it does not on the example. "
                "Give [], '' or another thing of the same kind in place of None"
            )


def _may_miss(node: Node) -> bool:
    body = ast.parse(node.args[0]).body
    block = body[-1]
    assert isinstance(block, ast.FunctionDef)
    others = {each.name: each for each in body if isinstance(each, ast.FunctionDef)}
    others |= {each.name: each for each in ast.walk(block) if isinstance(each, ast.FunctionDef)}
    return any(_misses(part, node.args[1], block, others, 0) for part in _returned(block))


def _returned(function: ast.FunctionDef) -> list[ast.expr | None]:
    return [part.value for line in function.body for part in _own(line) if isinstance(part, ast.Return)]


def _own(part: ast.AST) -> Iterator[ast.AST]:
    yield part
    if not isinstance(part, ast.FunctionDef | ast.Lambda):
        for each in ast.iter_child_nodes(part):
            yield from _own(each)


def _misses(part: Any, kind: Any, within: ast.FunctionDef, others: dict[str, ast.FunctionDef], depth: int) -> bool:
    """Whether an expression may be None where a kind is another one.

    Args:
        part: the expression; None for one that is not there.
        kind: as the node has it.
        within: the function in which it stands.
        others: the functions of the block.
        depth: how many names and calls led to it.
    """
    if kind == "any" or depth > _DEEPEST:
        return False
    kinds = list(kind) if isinstance(kind, list | tuple) else [kind]
    match part:
        case None | ast.Constant(None):
            return True
        case ast.IfExp(test, body, other):
            asked = {each.id for each in ast.walk(test) if isinstance(each, ast.Name)}
            sides = [each for each in (body, other) if not (isinstance(each, ast.Name) and each.id in asked)]
            return any(_misses(each, kind, within, others, depth) for each in sides)
        case ast.Tuple(parts) if kinds[0] == "tuple" and len(kinds) == len(parts) + 1:
            pairs = zip(parts, kinds[1:], strict=True)
            return any(_misses(each, inner, within, others, depth) for each, inner in pairs)
        case ast.ListComp(elt) if kinds[0] == "list":
            return _misses(elt, kinds[1], within, others, depth)
        case ast.Call(ast.Name(name)) if name in others:
            called = others[name]
            return any(_misses(each, kind, called, others, depth + 1) for each in _returned(called))
        case ast.Name(name):
            if any(_asks(each, name) for each in ast.walk(within)):
                return False
            return any(_misses(each, kind, within, others, depth + 1) for each in _values_of(name, within))
    return False


def _asks(part: ast.AST, name: str) -> bool:
    """Whether a statement goes another way where a variable is None, and so may set it or leave."""
    asks = isinstance(part, ast.If) and any(isinstance(e, ast.Name) and e.id == name for e in ast.walk(part.test))
    return asks and any(isinstance(each, ast.Return | ast.Raise) or _sets(each, name) for each in ast.walk(part))


def _sets(part: ast.AST, name: str) -> bool:
    targets = part.targets if isinstance(part, ast.Assign) else []
    return any(isinstance(each, ast.Name) and each.id == name for each in targets)


def _values_of(name: str, function: ast.FunctionDef) -> list[ast.expr]:
    return [each.value for each in ast.walk(function) if isinstance(each, ast.Assign) and _sets(each, name)]
