"""Restores tensors that a recorded function writes to, and the states of ops, after a trace.

They are also restored where the write makes the trace fail.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ...ops.lowering.user_model.writes import storage, written
from ...ops.runtime.interrupts.changes import Change
from ...ops.runtime.state import State
from ...ops.runtime.user_code import user_line
from .tensors import Values


class Undo(TorchDispatchMode):
    """Keeps the content of tensors before an operator writes to them, and restores it at the end.

    Args:
        values: the tensors of a recording: its captured ones are restored, and writes to them are registered. None
            where nothing is recorded: every tensor is restored.
    """

    def __init__(self, values: Values | None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        self.values = values
        self._kept: dict[int, tuple[torch.Tensor, torch.Tensor, tuple[Any, Any]]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Called by torch for every operator."""
        for each in written(func, args, kwargs or {}):
            for tensor in self._owners(each):
                self._keep(tensor)
        return func(*args, **(kwargs or {}))

    def _owners(self, target: torch.Tensor) -> list[torch.Tensor]:
        """The tensors to restore that share the memory of a tensor."""
        if self.values is None:
            return [target]
        captured = [constant.tensor for constant in self.values.captured.values()]
        return [tensor for tensor in captured if storage(tensor) == storage(target)]

    def _keep(self, tensor: torch.Tensor) -> None:
        if id(tensor) not in self._kept:
            self._kept[id(tensor)] = (tensor, tensor.detach().clone(), (tensor.size(), tensor.stride()))
            if self.values is not None:
                self.values.written(tensor, user_line())

    def restored(self) -> Change:
        """A context that restores the tensors when it is left."""
        return _Restored(self)

    def restore(self) -> None:
        """Restores the tensors."""
        if self.values is not None:
            self.values.restore_open()
        with torch.no_grad():
            for tensor, before, (size, stride) in reversed(self._kept.values()):
                if (tensor.size(), tensor.stride()) != (size, stride):  # it was reshaped in place
                    tensor.as_strided_(size, stride)
                tensor.copy_(before)


class _Restored(Change):
    def __init__(self, rollback: Undo) -> None:
        self.rollback: Undo | None = rollback

    def make(self) -> None:
        pass

    def undo(self) -> None:
        if self.rollback is not None:
            self.rollback.restore()
        self.rollback = None


class States(Change):
    """Resets the states of ops for a recording, and restores them after it."""

    def __init__(self) -> None:
        self._saved: dict[int, tuple[State, Any]] = {}

    def enter(self, state: State) -> None:
        """Resets a state when the recording first meets it."""
        if id(state) not in self._saved:
            self._saved[id(state)] = (state, state.snapshot())
            state.reset()

    def met(self) -> list[State]:
        """The states that the recording has met."""
        return [state for state, _ in self._saved.values()]

    def make(self) -> None:
        """Changes nothing: `enter` does."""

    def undo(self) -> None:
        """Restores every state."""
        for state, saved in self._saved.values():
            state.restore(saved)
