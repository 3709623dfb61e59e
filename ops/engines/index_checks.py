"""Which inputs of a region are indices into tables, and how many rows these have.

Torch refuses an index that is negative or too large. Other runtimes count negative ones from the end, or read beyond
the table, so an engine checks them before it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..graph.graph import BodyCall, Constant, Graph, Node, Operator, Value
from ..graph.traverse import leaves

_EMBEDDINGS = ("aten.embedding.default", "torch.embedding")
_FUNCTIONAL = "torch.nn.functional.embedding"


def checked(function: Callable[..., Any], checks: Sequence[tuple[int, int]]) -> Callable[..., Any]:
    """The function behind a check of its indices, or itself where it has none.

    Args:
        function: of tensors, those that are indices with memory that numpy shares.
        checks: of `index_checks`.
    """
    if not checks:
        return function

    def call(*values: Any) -> Any:
        for index, rows in checks:
            array = values[index].numpy()
            # A negative number is a large one without its sign.
            if array.size and int(array.view(f"u{array.itemsize}").max()) >= rows:
                raise IndexError("an index is out of range")
        return function(*values)

    return call


def index_checks(graph: Graph) -> list[tuple[int, int]]:
    """For each input that selects rows of a weight: its number, and the number of rows."""
    found: dict[int, int] = {}
    _collect(graph, {id(value): index for index, value in enumerate(graph.inputs)}, found)
    return sorted(found.items())


def _collect(graph: Graph, known: dict[int, int], found: dict[int, int]) -> None:
    for node in graph.nodes:
        if isinstance(node.target, BodyCall):
            body = node.target.body.graph
            given = zip(body.inputs, leaves(node.args), strict=False)
            _collect(body, {id(inner): known[id(outer)] for inner, outer in given if id(outer) in known}, found)
            continue
        pair = _selection(node)
        if pair is not None and id(pair[1]) in known:
            table, index = pair
            number = known[id(index)]
            found[number] = min(found.get(number, int(table.tensor.shape[0])), int(table.tensor.shape[0]))


def _selection(node: Node) -> tuple[Constant, Value] | None:
    """The table and the indices of a node that selects rows."""
    match node:
        case Node(Operator(name), (Constant() as table, Value() as index, *_)) if name in _EMBEDDINGS:
            return table, index
        case Node(Operator(name), (Value() as index, Constant() as table, *_)) if name == _FUNCTIONAL:
            return table, index
    return None
