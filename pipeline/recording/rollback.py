"""A trace leaves what is around the function as it was: tensors that it writes to, and the states of ops.

This holds also where the trace is refused for the write.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ...ops.runtime.interrupts.changes import Change
from ...ops.runtime.state import State
from ...ops.runtime.user_code import user_line
from .tensors import Values

# Operators that write to the running statistics in training without saying so: from which argument on, and where
# the flag for training is, if there is one.
_STATISTICS = {
    "aten::native_batch_norm": (3, 5), "aten::cudnn_batch_norm": (3, 5), "aten::miopen_batch_norm": (3, 5),
    "aten::batch_norm_update_stats": (1, None),
}  # fmt: skip


class Undo(TorchDispatchMode):
    """Keeps what tensors held before an operator wrote to them, and gives it back at the end.

    Args:
        values: those of the recording, of whose captured tensors it takes care, and which it tells of writes; None
            where nothing is recorded, so that every tensor counts.
    """

    def __init__(self, values: Values | None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        self.values = values
        self._kept: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Called by torch for every operator."""
        for written in _written(func, args, kwargs or {}):
            for tensor in self._owners(written):
                self._keep(tensor)
        return func(*args, **(kwargs or {}))

    def _owners(self, written: torch.Tensor) -> list[torch.Tensor]:
        """The tensors from outside that lie in the same memory."""
        if self.values is None:
            return [written]
        captured = [constant.tensor for constant in self.values.captured.values()]
        return [tensor for tensor in captured if _storage(tensor) == _storage(written)]

    def _keep(self, tensor: torch.Tensor) -> None:
        if id(tensor) not in self._kept:
            self._kept[id(tensor)] = (tensor, tensor.detach().clone())
            if self.values is not None:
                self.values.written(tensor, user_line())

    def restored(self) -> Change:
        """Gives back what was there when it is left."""
        return _Restored(self)

    def restore(self) -> None:
        """Gives back what was there."""
        if self.values is not None:
            self.values.restore_open()
        with torch.no_grad():
            for tensor, before in reversed(self._kept.values()):
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


def _written(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[torch.Tensor]:
    """The tensors with memory that an operator writes to."""
    found: list[Any] = []
    schema = func._schema
    for index, argument in enumerate(schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = args[index] if index < len(args) else kwargs.get(argument.name)
            found += value if isinstance(value, list) else [value]
    if schema.name in _STATISTICS:
        first, training = _STATISTICS[schema.name]
        found += args[first : first + 2] if training is None or args[training] else ()
    return filter(_is_dense, found)


def _is_dense(leaf: Any) -> bool:
    """Whether it is a tensor with memory; those of torch.export, which have none, are of kinds of their own."""
    return type(leaf) in (torch.Tensor, torch.nn.Parameter) and leaf.layout is torch.strided and _storage(leaf) != 0


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr() if tensor.device.type != "meta" else 0


class States(Change):
    """Remembers what the states of ops were before a recording."""

    def __init__(self) -> None:
        self._saved: dict[int, tuple[State, Any]] = {}

    def enter(self, state: State) -> None:
        """Takes a state to its initial values when the recording first meets it."""
        if id(state) not in self._saved:
            self._saved[id(state)] = (state, state.snapshot())
            state.reset()

    def make(self) -> None:
        """Changes nothing yet."""

    def undo(self) -> None:
        """Gives every op the state that it had before."""
        for state, saved in self._saved.values():
            state.restore(saved)
