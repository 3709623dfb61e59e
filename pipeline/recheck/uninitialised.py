"""Memory that a graph may hand out without having written to it, and kernels that may read past the end of theirs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ...ops.graph.graph import Graph, KernelCall, Operator
from ...ops.graph.kernel import Kernel
from ...ops.graph.traverse import bodies, walk
from .vary import layouts, trials, varied


def is_unchecked(graph: Graph) -> bool:
    """Whether a kernel of the graph may read past the end of a tensor whose sizes its author did not expect."""
    return any(kernel.unchecked for kernel in _kernels(graph))


def trusts_values(graph: Graph) -> bool:
    """Whether a kernel of the graph may read past the end of a tensor for values that its author did not expect."""
    return any(kernel.trusts_values for kernel in _kernels(graph))


def examples_within(graph: Graph, leaves: Sequence[Any], known: Iterable[Any] = ()) -> Iterator[list[Any]]:
    """Examples for replays of a graph: none with new values where a kernel takes them for indices without a check.

    The rows come in another order there, smaller by an eighth, more of them, and in other layouts.

    Args:
        graph: the graph.
        leaves: the example.
        known: numbers and texts that the function's code names.
    """
    if not trusts_values(graph):
        yield from trials(leaves, known)
        return
    yield from varied(leaves)
    yield from layouts(leaves)


def _kernels(graph: Graph) -> list[Kernel]:
    graphs = [graph, *(body.graph for body in bodies(graph))]
    return [node.target.kernel for each in graphs for node in walk(each) if isinstance(node.target, KernelCall)]


def fills(graph: Graph) -> bool:
    """Whether a graph may hand out memory that nothing was written to."""
    return any("empty" in name for name in _names(graph))


def is_uninitialised(graph: Graph) -> bool:
    """Whether numpy may make such memory, where nothing can fill it."""
    return any("numpy.empty" in name for name in _names(graph))


def _names(graph: Graph) -> list[str]:
    graphs = [graph, *(body.graph for body in bodies(graph))]
    return [node.target.name for each in graphs for node in walk(each) if isinstance(node.target, Operator)]


class Filled(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch leaves it untyped
    """While it is entered, memory that torch gives out uninitialised holds zeros, as that of a pipeline does."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Called by torch for every operator."""
        found = func(*args, **(kwargs or {}))
        return found.zero_() if "empty" in str(func) and found.layout is torch.strided else found
