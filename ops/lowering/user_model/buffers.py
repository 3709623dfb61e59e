"""The tensors of a user's model while it is lowered: copies of its buffers for runs, and what puts its own back."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ...graph.errors import LoweringError
from ...runtime.interrupts.changes import Kept
from .isolate import InferenceForm
from .write_marks import WriteMark, copied


class Live:
    """Runs a model as inference does, on copies of its buffers that are kept from call to call.

    Args:
        model: the user's model.
        training: whether the model keeps its own mode.
        grad: whether the model runs with gradients.
    """

    def __init__(self, model: Any, training: bool = False, grad: bool = False) -> None:
        self.model, self.training, self.grad = model, training, grad
        self.initial = _copies_of_buffers(model) if isinstance(model, torch.nn.Module) else {}
        self.buffers = dict(self.initial)

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs the model; the user's own buffers do not change."""
        with torch.enable_grad() if self.grad else torch.no_grad(), InferenceForm(self.model, self.training):
            if self.buffers:
                return torch.func.functional_call(self.model, self.buffers, args, kwargs, tie_weights=False)
            return self.model(*args, **kwargs)

    @property
    def changed(self) -> bool:
        """Whether calls wrote to a buffer or replaced one."""
        return any(now is not self.initial[name] or now._version for name, now in self.buffers.items())


def _copies_of_buffers(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """A copy of each buffer of each part, under one of the part's names; where two parts hold one tensor, one copy.

    A part that has two names is replaced once: torch's own ties would put the first copy back in place of the buffer.
    """
    copies: dict[int, torch.Tensor] = {}
    found = {}
    for prefix, module in model.named_modules():
        for key, buffer in module._buffers.items():
            if buffer is not None:
                name = f"{prefix}.{key}" if prefix else key
                found[name] = copies.setdefault(id(buffer), copied(buffer))
    return found


class KeptData(Kept):
    """Restores the memory of a module's tensors where a call sets `.data`, which no operator shows.

    Args:
        model: the module; nothing is kept of any other object.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.before: list[tuple[torch.Tensor, torch.Tensor]] = []

    def make(self) -> None:
        """Takes a view of each tensor."""
        if isinstance(self.model, torch.nn.Module) and not isinstance(self.model, torch.jit.ScriptModule):
            tensors = (*self.model.parameters(), *self.model.buffers())
            self.before = [(t, t.detach()) for t in tensors if type(t) in (torch.Tensor, torch.nn.Parameter)]

    def undo(self) -> None:
        """Puts them back where they lay."""
        for tensor, view in self.before:
            if not tensor.is_set_to(view):
                tensor.data = view

    def let_go(self) -> None:
        """Drops the views."""
        self.before = []


class KeptBuffers(Kept):
    """Restores the buffers of a module and their values.

    Args:
        model: the module; any other object has no buffers.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.before: list[tuple[Any, str, torch.Tensor, torch.Tensor, WriteMark]] = []

    def make(self) -> None:
        """Copies the values."""
        if isinstance(self.model, torch.nn.Module):
            pairs = [(m, n, b) for m in self.model.modules() for n, b in m._buffers.items() if b is not None]
            copies = [copied(b) for _, _, b in pairs]
            self.before = [(*pair, each, WriteMark(pair[2], each)) for pair, each in zip(pairs, copies, strict=True)]

    @property
    def changed(self) -> bool:
        """Whether a buffer was written to or replaced."""
        return any(m._buffers.get(name) is not b or mark.is_written for m, name, b, _, mark in self.before)

    def undo(self) -> None:
        """Restores buffers and values."""
        with torch.no_grad():
            for module, name, buffer, values, mark in self.before:
                if mark.is_written:
                    buffer.copy_(values)
                module._buffers[name] = buffer

    def let_go(self) -> None:
        """Drops the copies."""
        self.before = []


def tensors_of(model: Any) -> list[torch.Tensor]:
    """The parameters, the buffers, and the tensors that parts of a model have as plain attributes."""
    plain = [each for part in model.modules() for each in vars(part).values() if isinstance(each, torch.Tensor)]
    return [*model.parameters(), *model.buffers(), *plain]


def apart(result: Any, tensors: Sequence[Any]) -> Any:
    """A result in which what lies in the memory of some tensors is a copy."""
    memory = set(map(_memory, tensors)) - {0}
    return pytree.tree_map_only(torch.Tensor, lambda t: t.clone() if _memory(t) in memory else t, result)


def _memory(tensor: Any) -> int:
    """The address of a tensor's memory; 0 where there is none to share."""
    if not isinstance(tensor, torch.Tensor) or tensor.layout is not torch.strided or tensor.device.type == "meta":
        return 0
    return tensor.untyped_storage().data_ptr()


def own_model(model: Any) -> Any:
    """A copy of a model that later calls go on with, in inference mode or outside of it."""
    with torch.inference_mode(False):
        return copy.deepcopy(model)


@contextmanager
def buffers_in_place(model: Any) -> Iterator[None]:
    """Turns the replacement of a buffer into a write: torch.export loses `self.h = ...` below the outermost module.

    Raises:
        LoweringError: a buffer was replaced by a tensor of another dtype or shape.
    """
    modules = list(model.modules()) if isinstance(model, torch.nn.Module) else []
    before = [(module, name, buffer) for module in modules for name, buffer in module._buffers.items()]
    yield
    for module, name, buffer in before:
        now = module._buffers.get(name)
        if now is buffer or not isinstance(buffer, torch.Tensor) or not isinstance(now, torch.Tensor):
            continue
        if now.dtype != buffer.dtype or now.shape != buffer.shape:
            raise LoweringError(
                f"the model replaces its buffer {name!r} by a tensor of another dtype or shape",
                where=type(module).__name__,
                got=f"{now.dtype} {tuple(now.shape)}",
                expected=f"{buffer.dtype} {tuple(buffer.shape)}",
                fix="Give it its largest size and count the used rows, or take it as an input and return it.",
            )
        buffer.copy_(now)
        module._buffers[name] = buffer
