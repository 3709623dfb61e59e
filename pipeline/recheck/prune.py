"""Removes arithmetic and size reads that nothing uses: a function that looks at `x.shape` reads every size of it."""

from __future__ import annotations

from ...ops.graph.graph import Graph, Node, Operator, Value
from ...ops.graph.operators.names import GRADIENTS
from ...ops.graph.traverse import leaves, uses
from ...ops.runtime.primitives.numpy import writes

_EFFECTS = ("py.draw", *(f"py.{name}" for name in GRADIENTS))  # a draw moves its generator


def prune(graph: Graph) -> Graph:
    """The graph without unused ``py.…`` nodes, which have no effect. Torch operators stay, whether used or not."""
    used = {id(leaf) for leaf in leaves(graph.output) if isinstance(leaf, Value)}
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if _is_arithmetic(node) and not any(id(v) in used for v in leaves(node.output)):
            continue
        kept.append(node)
        used |= {id(leaf) for leaf in uses(node) if isinstance(leaf, Value)}
    return Graph(graph.inputs, tuple(reversed(kept)), graph.output)


def _is_arithmetic(node: Node) -> bool:
    if not isinstance(node.target, Operator) or node.target.name in _EFFECTS:
        return False
    return node.target.name.startswith("py.") and not writes(node.target.name)
