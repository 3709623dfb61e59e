"""Guards on the memory layout of a model's inputs, for a model whose answer hangs on strides or contiguity.

And on whether they require gradients, and on settings of the process, where it hangs on those.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import torch

from ...graph.graph import Graph, Guard, Node, Operator, Value
from ...graph.types import BOOL, INT, SCALARS, TensorType
from ..call import Leaves

_REASON = "the model's answer depends on how its inputs lie in memory"


def with_layouts(graph: Graph, tensors: Leaves, exactly: bool) -> Graph:
    """The graph with guards on the memory layout of its inputs.

    An input that was contiguous must be contiguous; any other one must have the strides of the example.

    Args:
        graph: of the model.
        tensors: its example.
        exactly: whether contiguous inputs must have the strides of new tensors, also where a size is 1 or 0.
    """
    nodes: list[Node] = []
    for value, tensor in zip(graph.inputs, tensors, strict=True):
        if isinstance(tensor, torch.Tensor) and tensor.dim():
            nodes += _guards(value, tensor, exactly)
    return Graph(graph.inputs, (*nodes, *graph.nodes), graph.output)


def with_gradient_guards(graph: Graph) -> Graph:
    """The graph with guards that none of its inputs requires a gradient."""
    reason = "the model's answer depends on whether its inputs require gradients"
    tensors = [value for value in graph.inputs if isinstance(value.type, TensorType)]
    nodes = [node for value in tensors for node in _guarded("requires_grad", (value,), False, reason)]
    return Graph(graph.inputs, (*nodes, *graph.nodes), graph.output)


def guarded_setting(graph: Graph, name: str, expected: Any, reason: str) -> Graph:
    """The graph with a guard on a setting of the process, which is read in each run.

    Args:
        graph: of a model or a function.
        name: of the operator that reads the setting.
        expected: its value.
        reason: why another value stops a run.
    """
    found = Value(SCALARS[type(expected)])
    read = Node(Operator(f"py.{name}"), (), {}, found, None, varying=True)
    return Graph(graph.inputs, (read, Node(Guard(expected, reason), (found,)), *graph.nodes), graph.output)


def guards_of(graph: Graph) -> Graph | None:
    """The guards that `with_layouts` put into a graph, alone; None where there are none."""
    last = [place for place, node in enumerate(graph.nodes) if _is_layout(node)]
    return Graph(graph.inputs, graph.nodes[: last[-1] + 1], ()) if last else None


def _is_layout(node: Node) -> bool:
    return isinstance(node.target, Guard) and node.target.reason == _REASON


def _guards(value: Value, tensor: torch.Tensor, exactly: bool) -> Iterator[Node]:
    if tensor.is_contiguous() and not exactly:
        yield from _guarded("contiguous", (value,), True)
    elif tensor.is_contiguous() and tensor.stride() == torch.empty(tensor.shape, device="meta").stride():
        yield from _guards_of_new(value, tensor.dim())
    else:
        for dim, step in enumerate(tensor.stride()):
            yield from _guarded("stride", (value, dim), step)


def _guards_of_new(value: Value, dims: int) -> Iterator[Node]:
    """Guards on the strides that a new tensor of these sizes has."""
    wanted: Any = 1
    for dim in range(dims - 1, -1, -1):
        found, size, least, step = (Value(INT) for _ in range(4))
        yield Node(Operator("py.stride"), (value, dim), {}, found)
        yield from _guarded("eq", (found, wanted), True)
        yield Node(Operator("py.size"), (value, dim), {}, size)
        yield Node(Operator("py.max"), (1, size), {}, least)
        yield Node(Operator("py.mul"), (wanted, least), {}, step)
        wanted = step


def _guarded(name: str, args: tuple[Any, ...], expected: Any, reason: str = _REASON) -> Iterator[Node]:
    found = Value(BOOL if isinstance(expected, bool) else INT)
    yield Node(Operator(f"py.{name}"), args, {}, found, varying=name == "requires_grad")  # no signature of a run has it
    yield Node(Guard(expected, reason), (found,))


def stepped(tensor: Any, kind: Any, symbols: Collection[str]) -> Any:
    """A tensor with 1 for the sizes that are called so, and with large strides wherever a size is 1."""
    if not isinstance(tensor, torch.Tensor) or not isinstance(kind, TensorType) or tensor.layout is not torch.strided:
        return tensor
    for dim, name in enumerate(kind.shape):
        if name in symbols and tensor.size(dim):
            tensor = tensor.narrow(dim, 0, 1)
    tensor = tensor.contiguous()
    strides = [2 * step + 5 if size == 1 else step for size, step in zip(tensor.shape, tensor.stride(), strict=True)]
    return tensor.as_strided(tensor.shape, strides)


def grown(tensor: Any, kind: Any, symbols: Collection[str]) -> Any:
    """A tensor with 3 for the sizes that are called so and are 1: with a size of 1, no stride tells anything."""
    if not isinstance(tensor, torch.Tensor) or not isinstance(kind, TensorType) or tensor.layout is not torch.strided:
        return tensor
    for dim, name in enumerate(kind.shape):
        if name in symbols and tensor.size(dim) == 1:
            tensor = tensor.repeat_interleave(3, dim)
    return tensor
