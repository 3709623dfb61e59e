"""Tensors that torch puts in place of plain ones where it traces or transforms the caller of a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ...ops.graph.errors import LoweringError
from ...ops.graph.graph import BodyCall, Graph, Node, Operator, Value
from ...ops.graph.traverse import leaves, uses, walk
from ...ops.graph.types import TensorType
from ...ops.runtime.interrupts.changes import Change
from ...ops.runtime.interrupts.modes import asks_gradients, makes_graph, outside
from ...ops.runtime.state import State

_functorch: Any = torch._C._functorch


def differentiated_by(value: Any) -> str:
    """What wants a gradient for a tensor, and takes a result without any for a constant; empty if nothing does.

    Such are the transforms of `torch.func`, and `jacobian` and its kin in `torch.autograd.functional`.
    """
    if isinstance(value, torch.Tensor) and value.requires_grad and asks_gradients():
        return "torch.autograd.functional"
    while isinstance(value, torch.Tensor) and _functorch.is_functorch_wrapped_tensor(value):
        if _functorch.is_gradtrackingtensor(value) and value.requires_grad:
            return "torch.func"
        value = _functorch.get_unwrapped(value)
    return ""


def is_traced(value: Any) -> bool:
    """Whether a value is a tensor that torch puts in place of a plain one, or torch traces what becomes of it."""
    if not isinstance(value, torch.Tensor):
        return False
    plain = type(value) in (torch.Tensor, torch.nn.Parameter) and not _functorch.is_functorch_wrapped_tensor(value)
    return not plain or torch._C._is_tracing()


class Freezing:
    """Nodes whose results a graph that torch makes of the caller would hold as constants: they are made by Python.

    Args:
        where: the name of the pipeline, for the message.
        graph: its graph.
    """

    def __init__(self, where: str, graph: Graph) -> None:
        self.where = where
        nodes = list(walk(graph))  # bodies of ops are torch's operators, which it follows
        self._number = next((node for node in nodes if _asks_tensors(node)), None)
        self._array = next((node for node in nodes if _leaves_torch(node)), None)

    def __bool__(self) -> bool:
        return self._number is not None or self._array is not None

    def require_none(self) -> None:
        """Refuses to be traced by `torch.jit.trace`, or by what follows operators of torch only, as `make_fx` does.

        Raises:
            LoweringError: naming the node.
        """
        tracing = torch._C._is_tracing()
        node = (tracing and self._number) or self._array
        if node is not None:
            who = "torch.jit.trace" if tracing else "a graph that torch makes"
            raise LoweringError(
                f"{who} would keep the result of {_name(node)} as it is now",
                where=str(node.line or self.where),
                fix="Trace what stands around the pipeline with tracepack.",
            )


def is_made_graph() -> bool:
    """Whether torch makes a graph of what this thread runs, in any of its ways but `torch.compile`."""
    return torch._C._is_tracing() or makes_graph()


_ASK_SIZES = frozenset(
    f"py.{name}" for name in "size stride numel storage_offset ndim dtype len is_conj is_neg".split()
)


def _asks_tensors(node: Node) -> bool:
    """Whether Python decides by what is in tensors: makes a number or a text of them, or takes a branch."""
    target = node.target
    if isinstance(target, BodyCall) or (isinstance(target, Operator) and _asks_sizes(target.name)):
        return False
    given = list(uses(node))
    if any(isinstance(leaf, Graph) for leaf in given):
        return True
    reads = any(isinstance(leaf, Value) and isinstance(leaf.type, TensorType) for leaf in given)
    return reads and any(not isinstance(leaf.type, TensorType) for leaf in _made(node))


def _asks_sizes(operator: str) -> bool:
    return operator in _ASK_SIZES or operator.startswith("aten.sym_")


def _leaves_torch(node: Node) -> bool:
    """Whether tensors go through arrays of numpy, or through a table of Python."""
    return _name(node) == "py.lookup_all" or any(str(leaf.type) == "array" for leaf in _made(node))


def _made(node: Node) -> list[Value]:
    return [leaf for leaf in leaves(node.output) if isinstance(leaf, Value)]


def _name(node: Node) -> str:
    target = node.target
    return target.name if isinstance(target, Operator) else str(target)


class Taking(Change):
    """While it is entered, operators take fake tensors together with the real weights of a pipeline.

    With fake inputs torch follows the pipeline, and nothing is computed: so its state is restored afterwards.

    Args:
        inputs: the flat inputs; where none of them is fake, nothing is changed.
        state: the state of the pipeline, if runs change it.
    """

    def __init__(self, inputs: Sequence[Any], state: State | None) -> None:
        found = [getattr(value, "fake_mode", None) for value in inputs if type(value) is not torch.Tensor]
        self.modes = [(mode, mode.allow_non_fake_inputs) for mode in found if mode is not None]
        self.state = state if self.modes else None
        self.saved: Any = None

    def make(self) -> None:
        """Lets the fake modes of the inputs take real tensors."""
        if self.state is not None:
            self.saved = outside(self.state.snapshot)()
        for mode, _ in self.modes:
            mode.allow_non_fake_inputs = True

    def undo(self) -> None:
        """Restores the settings of the fake modes, and the state."""
        for mode, allowed in self.modes:
            mode.allow_non_fake_inputs = allowed
        if self.state is not None and self.saved is not None:
            outside(self.state.restore)(self.saved)
            self.saved = None
