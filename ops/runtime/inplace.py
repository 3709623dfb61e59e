"""Elementwise nodes that may write over their input, which saves an allocation and gives the same bits.

The input must be a new tensor of an operator, of the same dtype, that no other node reads.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..graph.graph import Graph, Node, Operator, Value
from ..graph.traverse import leaves, uses
from ..graph.types import TensorType

# Operators whose result has new memory: it is never an argument or a view of one.
_MAKERS = frozenset(
    """aten.linear.default aten.addmm.default aten.mm.default aten.bmm.default aten.baddbmm.default aten.add.Tensor
    aten.sub.Tensor aten.mul.Tensor aten.conv1d.default aten.conv2d.default aten.conv3d.default aten.tanh.default
    aten.sigmoid.default aten.relu.default aten.layer_norm.default""".split()
)
_IN_PLACE = {f"aten.{name}.default": f"aten.{name}_.default" for name in ("tanh", "relu", "sigmoid")}


def in_place(graph: Graph) -> dict[int, str]:
    """The id of a node that may write over its input -> the operator that does so."""
    readers = Counter(id(leaf) for leaf in _reads(graph))
    made: dict[int, Node] = {}
    found: dict[int, str] = {}
    for node in graph.nodes:
        name = node.target.name if isinstance(node.target, Operator) else ""
        if name in _IN_PLACE and not node.kwargs and _replaces(node, made, readers):
            found[id(node)] = _IN_PLACE[name]
        if name in _MAKERS and isinstance(node.output, Value):
            made[id(node.output)] = node
    return found


def _reads(graph: Graph) -> list[Any]:
    found = [leaf for node in graph.nodes for leaf in uses(node)]
    return [leaf for leaf in [*found, *leaves(graph.output)] if isinstance(leaf, Value)]


def _replaces(node: Node, made: dict[int, Node], readers: Counter[int]) -> bool:
    match node.args:
        case (Value() as value,) if id(value) in made and readers[id(value)] == 1 and isinstance(node.output, Value):
            before, after = value.type, node.output.type
            return isinstance(before, TensorType) and isinstance(after, TensorType) and before.dtype == after.dtype
    return False
