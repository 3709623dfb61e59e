"""The constructors of tensors before `torch.tensor`, such as `torch.LongTensor`, where they take recorded values.

They look for numbers at once, and so see no stand-ins: `torch.tensor` with their dtype gives the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ....proxies.arrays import TracedArray
from ....proxies.base import is_free_shape, is_traced
from ....recording.recorder import Recorder
from ...python.operations import active, holds_traced


def _constructor(kind: Any) -> Callable[..., Any]:
    """Stands for one of them."""

    def construct(*args: Any, **options: Any) -> Any:
        recorder = active()
        given = args[0] if args else options.get("data")
        if recorder is None or not (_holds_recorded(recorder, given) or holds_traced((args, options))):
            return kind(*args, **options)
        if kind is torch.Tensor:
            recorder.pin_setting("default_dtype")
        dtype = torch.get_default_dtype() if kind is torch.Tensor else kind.dtype
        if isinstance(given, torch.Tensor) and given.dtype != dtype:
            return kind(torch.empty(0, dtype=given.dtype))  # which raises
        return _made(given, args, dtype, None)

    return construct


def _variable(data: Any = None, requires_grad: Any = False, *rest: Any, **options: Any) -> Any:
    """Stands for `torch.autograd.Variable`, which gives another tensor over the same memory."""
    recorder = active()
    if recorder is None or rest or options or not isinstance(data, torch.Tensor) or data not in recorder.values:
        return torch.autograd.Variable(data, requires_grad, *rest, **options)
    return data.detach().requires_grad_(requires_grad)  # which is refused where it is to need gradients


def new_of(tensor: torch.Tensor) -> Callable[..., Any]:
    """Stands for `torch.Tensor.new`: another tensor of the dtype and on the device of one."""

    def new(*args: Any) -> Any:
        return _made(args[0] if args else [], args, tensor.dtype, tensor.device)

    return new


def _made(given: Any, args: tuple[Any, ...], dtype: torch.dtype, device: torch.device | None) -> Any:
    """Of sizes an empty tensor, of a tensor another one over the same memory, and else one with what is given."""
    if isinstance(given, torch.Tensor):
        return given.detach()
    if isinstance(given, torch.Size) or is_free_shape(given) or _is_size(given):
        return torch.empty(*args, dtype=dtype, device=device)
    make = torch.as_tensor if type(given) is TracedArray else torch.tensor  # it shares the memory of an array
    return make(given, dtype=dtype, device=device)


def _is_size(thing: Any) -> bool:
    """Whether an argument is the first of some sizes, and not what the tensor is to hold."""
    return type(thing) is int or (is_traced(thing) and type(thing.concrete) is int)


def _holds_recorded(recorder: Recorder, thing: Any) -> bool:
    """Whether a thing is a tensor of the recording, or holds one, or is its shape."""
    if is_free_shape(thing):
        return True
    items = thing if type(thing) in (list, tuple) else [thing]
    return any(isinstance(each, torch.Tensor) and each in recorder.values for each in items)


_KINDS = ("Tensor", *(f"{name}Tensor" for name in (
    "Float", "Double", "Half", "BFloat16", "Byte", "Char", "Short", "Int", "Long", "Bool",
)))  # fmt: skip

OF_DTYPES: dict[Any, Callable[..., Any]] = {
    **{kind: _constructor(kind) for kind in (getattr(torch, name) for name in _KINDS)},
    torch.autograd.Variable: _variable,
}
"""A constructor -> what stands for it."""
