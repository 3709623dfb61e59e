"""The recorder of one branch or loop body; values of the outer recording become inputs of its graph."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree

from ...ops.graph.errors import RecordError
from ...ops.graph.graph import Node, Value
from ...ops.runtime.user_code import user_line
from ..proxies.base import is_traced
from ..proxies.trees import tensor_type
from .recorder import Recorder


class Branch(Recorder):
    """Records a function inside another recording; values of the outer one become inputs.

    Attributes:
        lifted: the outer tensors and numbers that were used, each with its input, by id.
    """

    def __init__(self, parent: Recorder) -> None:
        super().__init__(settled=parent.settled)
        self.parent = parent
        self.states = parent.states
        self.values.captured, self.values.versions = parent.values.captured, parent.values.versions
        self.lifted: dict[int, tuple[Any, Value]] = {}
        self.outer_versions: list[tuple[torch.Tensor, int]] = []
        self.grad_mode = self.written_mode = parent.grad_mode

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Makes inputs of the outer tensors among the arguments, then records as usual."""
        for leaf in pytree.tree_leaves((args, kwargs or {})):
            if isinstance(leaf, torch.Tensor):
                self.lift(leaf)
        return super().__torch_function__(func, types, args, kwargs)

    def _drawn(self, node: Node, effects: Any, name: str) -> Node:
        """Refuses random numbers."""
        raise self._random()

    def allow_array_write(self, outputs: Any) -> None:
        """Refuses to write into an array: its memory may be that of a tensor from outside."""
        self.refuse("a branch writes to a numpy array", "Write before or after it, or use torch functions inside.")

    def allow_random(self) -> None:
        """Refuses random numbers."""
        raise self._random()

    def _random(self) -> RecordError:
        return RecordError(
            "a branch draws random numbers",
            where=str(user_line() or ""),
            fix="Draw them before cond or while_loop and pass the tensor as an operand.",
        )

    def _argument_leaf(self, leaf: Any) -> Any:
        if isinstance(leaf, torch.Generator):
            raise self._random()
        if isinstance(leaf, torch.Tensor):
            self.lift(leaf)
        if is_traced(leaf) and leaf.tracer is not self:
            return self.lift_scalar(leaf)
        return super()._argument_leaf(leaf)

    def lift(self, tensor: torch.Tensor) -> None:
        """Makes a tensor of the outer recording an input of this one."""
        if tensor in self.values:
            return
        if isinstance(self.parent, Branch):
            self.parent.lift(tensor)
        if tensor in self.parent.values:
            with torch._C.DisableTorchFunction():
                value = Value(tensor_type(tensor))
                self.outer_versions.append((tensor, tensor._version))
            self.values.add(tensor, value, self.parent.values.varies(tensor))
            self.lifted[id(tensor)] = (tensor, value)

    def lift_scalar(self, scalar: Any) -> Value:
        """Makes a number of the outer recording an input of this one."""
        if id(scalar.value) not in self.lifted:
            self.lifted[id(scalar.value)] = (scalar, Value(scalar.value.type))
        return self.lifted[id(scalar.value)][1]

    def refuse_outer_writes(self, line: Any) -> None:
        """Refuses a branch that wrote into a tensor that is not an operand.

        Raises:
            RecordError: it did.
        """
        if any(tensor._version != version for tensor, version in self.outer_versions):
            raise RecordError(
                "a branch writes to a tensor from outside",
                where=str(line or ""),
                fix="Pass the tensor to cond or while_loop as an operand.",
            )
