"""Tensors that torch puts in place of plain ones where it traces or transforms the caller of a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ...ops.runtime.interrupts.changes import Change
from ...ops.runtime.interrupts.modes import outside
from ...ops.runtime.state import State

_functorch: Any = torch._C._functorch


def is_differentiated(value: Any) -> bool:
    """Whether a transform of `torch.func` wants a gradient with respect to a tensor."""
    while isinstance(value, torch.Tensor) and _functorch.is_functorch_wrapped_tensor(value):
        if _functorch.is_gradtrackingtensor(value) and value.requires_grad:
            return True
        value = _functorch.get_unwrapped(value)
    return False


def is_traced(value: Any) -> bool:
    """Whether a value is a tensor that torch puts in place of a plain one, or torch traces what becomes of it."""
    if not isinstance(value, torch.Tensor):
        return False
    plain = type(value) in (torch.Tensor, torch.nn.Parameter) and not _functorch.is_functorch_wrapped_tensor(value)
    return not plain or torch._C._is_tracing()


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
