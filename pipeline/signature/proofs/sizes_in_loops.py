"""Sizes of inputs that ops need whose rows a loop gives to them, as in ``[op(row) for row in x]``.

Each round takes a row, so that a size of it is one of the input; of a round that a filter may leave out nothing is
said, nor of a loop that may end before the first one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ....ops.graph.graph import Graph, Node, Operator, Value
from ....ops.graph.guards import Expression
from ....ops.lowering.sizes import dimension
from ...recheck.sizes import from_bodies


def sizes_in_loops(graph: Graph) -> list[Expression]:
    """What the sizes of inputs have to be, over the names of `dimension`."""
    return list(_in_rounds(graph, {id(value): index for index, value in enumerate(graph.inputs)}, {}))


def _in_rounds(graph: Graph, tensors: dict[int, int], lists: Mapping[int, Any]) -> Iterator[Expression]:
    """What the loops of a graph need of some tensors.

    Args:
        graph: the graph.
        tensors: the place of each value that is one, by its id.
        lists: the place of each value that is the list of the rows of one, and a tuple of these for each that is a list
            of tuples.
    """
    lists = dict(lists)
    for node in graph.nodes:
        match node:
            case Node(Operator("py.rows"), (Value() as tensor, *_)) if id(tensor) in tensors:
                lists[id(node.output)] = tensors[id(tensor)]
            case Node(Operator("py.enumerate"), (Value() as rows, *_)) if id(rows) in lists:
                lists[id(node.output)] = (None, lists[id(rows)])
            case Node(Operator("py.zip" | "py.zip_strict"), several) if several:
                lists[id(node.output)] = tuple(lists.get(id(each)) for each in several)
            case Node(Operator("map"), (Graph() as inner, tuple() | list() as given, _)):
                yield from _in_round(inner, [(value, lists.get(id(each))) for value, each in _pairs(inner, given)], {})
            case Node(Operator("while_loop"), (Graph() as test, Graph() as inner, carried, captured)):
                given = (*carried, *captured)
                within = {id(value): lists[id(each)] for value, each in _pairs(inner, given) if id(each) in lists}
                if [_name(each) for each in test.nodes] == ["py.len", "py.lt"]:
                    yield from _in_round(inner, [], within)


def _in_round(inner: Graph, items: list[tuple[Value, Any]], lists: Mapping[int, Any]) -> Iterator[Expression]:
    """What a round needs of the tensors whose rows it takes: it is given them, or takes them of tuples and lists."""
    rows = {id(value): place for value, place in items if isinstance(place, int)}
    tuples = {id(value): place for value, place in items if isinstance(place, tuple)}
    for node in inner.nodes:
        match node:
            case Node(Operator("py.getitem"), (Value() as holder, int(at))) if id(holder) in tuples:
                place = tuples[id(holder)][at] if at < len(tuples[id(holder)]) else None
                rows |= {id(node.output): place} if isinstance(place, int) else {}
            case Node(Operator("py.getitem"), (Value() as holder, Value())) if isinstance(lists.get(id(holder)), int):
                rows[id(node.output)] = lists[id(holder)]
    for asked in (*from_bodies(inner, rows), *_in_rounds(inner, rows, {})):
        yield asked.renamed({name: _of_all_rows(name) for name in asked.symbols})


def _pairs(inner: Graph, given: Any) -> Iterator[tuple[Value, Any]]:
    return zip(inner.inputs, given, strict=False)


def _name(node: Node) -> str:
    return node.target.name if isinstance(node.target, Operator) else ""


def _of_all_rows(name: str) -> str:
    """The name of a dimension of a row as one of the tensor."""
    index, dim = map(int, name.removeprefix("d").split("_"))
    return dimension(index, dim + 1)
