"""Says where a block of plain Python may give None, whose result on the example the recording relies on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ...ops.graph.graph import Graph, Node, Operator
from ...ops.graph.operators.names import CODE
from ...ops.graph.traverse import walk


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
    misses = _Misses(others)
    return any(misses.may_be(part, node.args[1], block) for part in _returned(block))


def _returned(function: ast.FunctionDef) -> list[ast.expr | None]:
    return [part.value for line in function.body for part in _own(line) if isinstance(part, ast.Return)]


def _own(part: ast.AST) -> Iterator[ast.AST]:
    yield part
    if not isinstance(part, ast.FunctionDef | ast.Lambda):
        for each in ast.iter_child_nodes(part):
            yield from _own(each)


class _Misses:
    """Whether what a block gives may be None.

    Args:
        others: the functions of the block.
    """

    def __init__(self, others: dict[str, ast.FunctionDef]) -> None:
        self.others = others
        self._asked = set[tuple[int, str]]()  # expressions and kinds, of which none was found to be None

    def may_be(self, part: Any, kind: Any, within: ast.FunctionDef) -> bool:
        """Whether an expression may be None where a kind is another one.

        Args:
            part: the expression; None for one that is not there.
            kind: as the node has it.
            within: the function in which it stands.
        """
        if kind == "any" or (id(part), repr(kind)) in self._asked:
            return False
        if part is not None:
            self._asked.add((id(part), repr(kind)))
        kinds = list(kind) if isinstance(kind, list | tuple) else [kind]
        match part:
            case None | ast.Constant(None):
                return True
            case ast.IfExp(test, body, other):
                asked = {each.id for each in ast.walk(test) if isinstance(each, ast.Name)}
                sides = [each for each in (body, other) if not (isinstance(each, ast.Name) and each.id in asked)]
                return any(self.may_be(each, kind, within) for each in sides)
            case ast.Tuple(parts) if kinds[0] == "tuple" and len(kinds) == len(parts) + 1:
                pairs = zip(parts, kinds[1:], strict=True)
                return any(self.may_be(each, inner, within) for each, inner in pairs)
            case ast.ListComp(elt) if kinds[0] == "list":
                return self.may_be(elt, kinds[1], within)
            case ast.Call(ast.Name(name)) if name in self.others:
                called = self.others[name]
                return any(self.may_be(each, kind, called) for each in _returned(called))
            case ast.Name(name):
                if any(_asks(each, name) for each in ast.walk(within)):
                    return False
                return any(self.may_be(each, kind, within) for each in _values_of(name, within))
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
