"""Tensors that become arrays of numpy and back: a run without data has no arrays. No torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ....ops.graph.graph import Graph, Node, Operator, Value
from ....ops.graph.traverse import leaves
from ....ops.graph.types import TensorType

AS_ARRAY = ("torch.Tensor.numpy", "numpy.asarray", "numpy.array")
_AS_TENSOR = ("torch.from_numpy", "torch.as_tensor", "torch.tensor")


def past_arrays(graph: Graph) -> Graph:
    """The graph with the tensor itself for one that is made of an array of its memory, or of a copy."""
    tensors = {id(node.output): node.args[0] for node in _conversions(graph)}

    def past(node: Node) -> Node:
        behind = tensors.get(id(node.args[0])) if len(node.args) == 1 else None
        if behind is None or not isinstance(node.target, Operator) or node.target.name not in _AS_TENSOR:
            return node
        kept = {"dtype": node.kwargs["dtype"]} if "dtype" in node.kwargs else {}
        return replace(node, target=Operator(f"torch.Tensor.{'to' if kept else 'detach'}"), args=(behind,), kwargs=kept)

    return Graph(graph.inputs, tuple(map(past, graph.nodes)), graph.output)


def tensors_behind(graph: Graph) -> list[Value]:
    """The tensors of the graph's own that become arrays, where some result is an array."""
    if not any(isinstance(leaf, Value) and str(leaf.type) == "array" for leaf in leaves(graph.output)):
        return []
    inputs = {id(value) for value in graph.inputs}
    return [node.args[0] for node in _conversions(graph) if id(node.args[0]) not in inputs]


def _conversions(graph: Graph) -> Iterator[Node]:
    for node in graph.nodes:
        named = isinstance(node.target, Operator) and node.target.name in AS_ARRAY and not node.kwargs
        given = node.args[0] if named and len(node.args) == 1 else None
        if isinstance(given, Value) and isinstance(given.type, TensorType) and isinstance(node.output, Value):
            yield node
