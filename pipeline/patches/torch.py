"""Functions of torch that no mode sees: those of the grad mode and the default dtype, and custom backwards."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import torch

from ...ops.runtime.user_code import is_called_by_user, is_users
from ..rules.gradients import asks_grad_mode, is_asked_by_us
from .hooks import Hooks, active


def _grad_mode(plain: Callable[[], bool]) -> Callable[[], bool]:
    """`torch.is_grad_enabled`: torch's own blocks get the mode that the function set, although it runs without."""

    @wraps(plain)
    def is_grad_enabled() -> bool:
        recorder = active()
        if recorder is None or not torch._C._len_torch_function_stack() or is_asked_by_us():
            return plain()
        if is_called_by_user():
            asks_grad_mode(recorder)
            return plain()
        return recorder.grad_mode

    return is_grad_enabled


def _default_dtype(plain: Callable[[], torch.dtype]) -> Callable[[], torch.dtype]:
    @wraps(plain)
    def get_default_dtype() -> torch.dtype:
        recorder = active()
        if recorder is not None and is_users(
            sys._getframe(1).f_code.co_filename
        ):  # the user's code asks, and not tracepack
            recorder.pin_default_dtype()
        return plain()

    return get_default_dtype


def _set_default_dtype(plain: Callable[..., None]) -> Callable[..., None]:
    @wraps(plain)
    def set_default(*args: Any, **kwargs: Any) -> None:
        recorder = active()
        if recorder is not None:
            recorder.refuse(
                "the function sets torch's default dtype, for the whole process",
                "Give tensors their dtypes: torch.zeros(3, dtype=torch.float64).",
            )
        plain(*args, **kwargs)

    return set_default


def _apply(plain: Any) -> Any:
    """`torch.autograd.Function.apply`: its forward is recorded, and its backward is not."""

    @classmethod  # type: ignore[misc]  # it replaces one
    def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
        recorder = active()
        if recorder is not None:
            recorder.own_backward(cls.__name__)
        return plain.__get__(None, cls)(*args, **kwargs)

    return apply


questions = Hooks(
    [
        (torch, "is_grad_enabled", _grad_mode),
        (torch, "get_default_dtype", _default_dtype),
        (torch, "set_default_dtype", _set_default_dtype),
        (torch, "set_default_tensor_type", _set_default_dtype),
        (torch.autograd.Function, "apply", _apply),
    ]
)
"""Shows calls of these functions to the recorders of all threads."""
