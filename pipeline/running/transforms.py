"""Tensors that torch puts in place of plain ones where it traces or transforms the caller of a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ...ops.runtime.interrupts.changes import Change

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

    Args:
        inputs: the flat inputs; where none of them is fake, nothing is changed.
    """

    def __init__(self, inputs: Sequence[Any]) -> None:
        found = [getattr(value, "fake_mode", None) for value in inputs if type(value) is not torch.Tensor]
        self.modes = [(mode, mode.allow_non_fake_inputs) for mode in found if mode is not None]

    def make(self) -> None:
        """Lets the fake modes of the inputs take real tensors."""
        for mode, _ in self.modes:
            mode.allow_non_fake_inputs = True

    def undo(self) -> None:
        """Restores the settings of the fake modes."""
        for mode, allowed in self.modes:
            mode.allow_non_fake_inputs = allowed
