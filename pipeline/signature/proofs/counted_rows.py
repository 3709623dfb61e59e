"""Sizes of tensors that are made of lists: a list of what a loop makes of each row has as many items as there are rows.

A run without data cannot go through a list of any length, so that it says nothing of these.
"""

from __future__ import annotations

from collections.abc import Mapping

from ....ops.graph.graph import Graph, Node, Operator, Value
from ....ops.graph.traverse import leaves
from ....ops.graph.types import Dim, TensorType

_ROWS = ("py.rows", "py.tolist")
_SAME = ("py.list", "py.enumerate", "py.reversed", "py.sorted")
_MAKERS = ("torch.stack", "torch.tensor", "numpy.array", "numpy.stack")


def prove_rows(graph: Graph) -> None:
    """Shows the first sizes of results that are made of a list with an item for each row of an input.

    Args:
        graph: of the pipeline; the types of its results are changed.
    """
    made = {id(node.output): node for node in graph.nodes if isinstance(node.output, Value)}
    inputs = {id(value) for value in graph.inputs}
    for value in leaves(graph.output):
        node = made.get(id(value))
        if node is None or not isinstance(kind := value.type, TensorType) or kind.shape[:1] != ("?",):
            continue
        if _name(node) in _MAKERS and not {"dim", "axis", "ndmin"} & node.kwargs.keys() and node.args:
            whole = _name(node) in ("torch.tensor", "numpy.array") or node.args[1:] in ((), (0,))
            count = _count(node.args[0], made, inputs) if whole else None
            if count is not None:
                value.type = TensorType(kind.dtype, (count, *kind.shape[1:]))


def _count(items: object, made: Mapping[int, Node], inputs: set[int]) -> Dim | None:
    """How many items a list has: a size of an input; None where that is not known."""
    node = made.get(id(items))
    while node is not None and _name(node) in _SAME and not node.kwargs:
        node = made.get(id(node.args[0]))
    if node is None:
        return None
    if _name(node) == "map" and len(node.args) == 3 and isinstance(node.args[1], tuple | list):
        counts = (_count(each, made, inputs) for each in node.args[1])  # a run refuses lists of unlike lengths
        return next((count for count in counts if count is not None), None)
    source = node.args[0] if _name(node) in _ROWS else None
    if not isinstance(source, Value) or id(source) not in inputs or not isinstance(source.type, TensorType):
        return None
    return source.type.shape[0] if source.type.shape else None


def _name(node: Node) -> str:
    return node.target.name if isinstance(node.target, Operator) else ""
