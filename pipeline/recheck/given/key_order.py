"""The order of keys in dicts that a function takes: it is no part of a call's structure, but an answer may hang on it.

A function that only looks things up takes its dicts in any order. One that goes through them is held to the order of
its example: a mark in the graph names the parameter, and a run that gets another order is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ....ops.graph.graph import Graph, Node, Operator, Record


def has_order(tree: Any) -> bool:
    """Whether a parameter's tree has a dict of several keys."""
    if isinstance(tree, dict):
        return len(tree) > 1 or any(map(has_order, tree.values()))
    return any(map(has_order, _items(tree)))


def key_orders(result: Any) -> Any:
    """The keys of the dicts in a result, in their order; values do not count."""
    if isinstance(result, dict):
        return [(key, key_orders(item)) for key, item in result.items()]
    return [key_orders(item) for item in result] if isinstance(result, tuple | list) else None


def turned(tree: Any) -> Any:
    """The same tree with the keys of every dict the other way round."""
    if isinstance(tree, dict):
        return {key: turned(tree[key]) for key in reversed(tree)}
    if isinstance(tree, Record):
        return replace(tree, items=tuple(map(turned, tree.items)))
    return type(tree)(map(turned, tree)) if type(tree) in (tuple, list) else tree


def with_marks(graph: Graph, marks: Sequence[tuple[str, Sequence[str]]]) -> Graph:
    """The graph with marks: the name of each, and the names of the inputs that it is about."""
    nodes = [Node(Operator(f"py.{name}"), tuple(inputs)) for name, inputs in marks]
    return Graph(graph.inputs, (*nodes, *graph.nodes), graph.output)


def _items(tree: Any) -> Sequence[Any]:
    if isinstance(tree, Record):
        return tree.items
    return tree if type(tree) in (tuple, list) else ()
