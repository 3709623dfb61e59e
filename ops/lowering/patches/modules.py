"""Patches of `nn.Module` while a model is exported or watched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .lock import Patch, Patched


def _idle(original: Any, patch: Patch) -> Callable[..., Any]:
    def to(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not patch.needed:
            return original(self, *args, **kwargs)
        with torch._C.DisableTorchFunction():
            device, dtype, *_ = torch._C._nn._parse_to(*args, **kwargs)
        held = [*self.parameters(), *self.buffers()]
        moved = any(device is not None and tensor.device != device for tensor in held)
        cast = any(dtype is not None and tensor.is_floating_point() and tensor.dtype != dtype for tensor in held)
        return original(self, *args, **kwargs) if moved or cast else self

    return to


def _casting(dtype: torch.dtype) -> Callable[[Any, Patch], Callable[..., Any]]:
    def replaced(original: Any, patch: Patch) -> Callable[..., Any]:
        def cast(self: Any) -> Any:
            held = [tensor for tensor in (*self.parameters(), *self.buffers()) if tensor.is_floating_point()]
            idle = patch.needed and all(tensor.dtype == dtype for tensor in held)
            return self if idle else original(self)

        return cast

    return replaced


def _staying(original: Any, patch: Patch) -> Callable[..., Any]:
    def cpu(self: Any) -> Any:
        here = patch.needed and all(tensor.is_cpu for tensor in (*self.parameters(), *self.buffers()))
        return self if here else original(self)

    return cpu


_moves = (
    Patch(torch.nn.Module, "to", _idle),
    Patch(torch.nn.Module, "cpu", _staying),
    Patch(torch.nn.Module, "bfloat16", _casting(torch.bfloat16)),
    Patch(torch.nn.Module, "float", _casting(torch.float32)),
    Patch(torch.nn.Module, "half", _casting(torch.float16)),
    Patch(torch.nn.Module, "double", _casting(torch.float64)),
)


def idle_moves() -> Patched:
    """Makes a `module.to(...)` or `module.float()` that changes nothing return at once.

    torch.export cannot swap a parameter for itself. Nor can a recording hold that.
    """
    return Patched(*_moves)


_missed: set[tuple[int, str]] = set()


def _noted(original: Any, patch: Patch) -> Callable[..., Any]:
    def __getattr__(self: torch.nn.Module, name: str) -> Any:
        if patch.needed:
            _missed.add((id(self), name))
        return original(self, name)

    return __getattr__


class Missed(Patched):
    """While it is entered, collects the attributes that code looks up in modules that do not have them.

    Attributes:
        found: pairs of a module's id and the name of an attribute; `hasattr` counts, too.
    """

    _patch = Patch(torch.nn.Module, "__getattr__", _noted)

    def __init__(self) -> None:
        super().__init__(self._patch)
        self.found = _missed

    def make(self) -> None:
        """Clears what was found before."""
        _missed.clear()
        super().make()
