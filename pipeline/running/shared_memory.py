"""Writes into memory that a numpy array and a tensor share, which on an accelerator they do not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...ops.graph.errors import PlacementError
from ...ops.graph.graph import Graph, Node, Operator, Value
from ...ops.graph.traverse import leaves, walk
from ...ops.graph.types import ARRAY
from ...ops.runtime.primitives.numpy import on_cpu, writes

_COPIES = ("numpy.copy", "numpy.ndarray.copy", "numpy.ndarray.astype", "numpy.array")


def refuse_lost_writes(graph: Graph, may_write: Callable[[Node], bool]) -> None:
    """Refuses a graph that writes to memory that an array and a tensor may share.

    Raises:
        PlacementError: naming the line that writes.
    """
    nodes = [node for node in walk(graph) if isinstance(node.target, Operator)]
    if not any(map(on_cpu, nodes)):
        return
    own: set[int] = set()
    for node in nodes:
        written = [leaf for leaf in (*node.args[:1], *leaves(node.kwargs.get("out"))) if isinstance(leaf, Value)]
        if may_write(node) and not all(leaf.type == ARRAY and id(leaf) in own for leaf in written):
            raise PlacementError(
                "numpy shares memory with tensors on the CPU only, and this function writes to such memory",
                where=str(node.line or ""),
                fix="Write into a copy, array.copy(), or load with gpu_ops='cpu'.",
            )
        if may_write(node) or _is_new(node):
            own |= {id(leaf) for leaf in leaves(node.output)}


def _is_new(node: Node) -> bool:
    """Whether a node's result is an array with memory of its own."""
    assert isinstance(node.target, Operator)
    family, _, rest = node.target.name.partition(".")
    if family == "py":
        return rest != "getitem" and not writes(node.target.name)
    ufunc = family == "numpy" and isinstance(getattr(np, rest, None), np.ufunc)
    return "copy" not in node.kwargs and (ufunc or node.target.name in _COPIES)
