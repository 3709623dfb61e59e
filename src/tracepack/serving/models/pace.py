"""Pace: how long the runs of a model take, as they were measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from ...ops.graph.graph import Graph, KernelCall, Operator
from ...ops.graph.traverse import every_node

SHORT = 1e-3  # seconds that a run may hold the event loop
CHEAP = 5e-5  # seconds of a run that are less than what a batch costs for each of its requests

_LOOPS = (Operator("while_loop"), Operator("map"))


class Pace:
    """How long runs of a model take, by the magnitude of their inputs; the slower of the last two counts.

    Args:
        foreseeable: whether inputs of one size take about as long; where not, no run is known to be short.
    """

    def __init__(self, foreseeable: bool) -> None:
        self._foreseeable = foreseeable
        self._known: dict[int, tuple[float, float]] = {}

    def is_short(self, size: int, limit: float = SHORT) -> bool:
        """Whether a run on inputs of so many bytes was seen to be short."""
        known = self._known.get(size.bit_length()) if self._foreseeable else None
        return known is not None and max(known) < limit

    def note(self, size: int, seconds: float) -> None:
        """Notes what a run took; the first one of a size, which compiles, does not count."""
        before = self._known.get(size.bit_length())
        self._known[size.bit_length()] = (before[1], seconds) if before else (SHORT, seconds)


def is_foreseeable(graph: Graph) -> bool:
    """Whether the work of a graph follows from the sizes of its inputs: no loop, and no code of which nobody knows."""
    return not any(
        node.target in _LOOPS or (isinstance(node.target, KernelCall) and node.target.kernel.runs_code)
        for node in every_node(graph)
    )


def size_of(tree: Any) -> int:
    """The bytes of the inputs of a run, about; an integer counts as what it is, since it may be a number of elements.

    Example:
        >>> size_of({"x": torch.zeros(2, 3), "texts": ["ab", "c"]})
        43
        >>> size_of({"n": 1000})
        1008
    """
    if isinstance(tree, torch.Tensor):
        return tree.nbytes
    if isinstance(tree, str):
        return len(tree)
    if isinstance(tree, int):
        return 8 + abs(tree)
    if isinstance(tree, Mapping):
        return sum(map(size_of, tree.values()))
    return 8 * len(tree) + sum(map(size_of, tree)) if isinstance(tree, list | tuple) else 8
