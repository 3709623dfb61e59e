"""Whether a mode, a tracer or a transform is at work, so that a layer must run as one operator of torch."""

from __future__ import annotations

import torch
from torch.autograd import forward_ad

from ..expr.errors import DerivativeError

_function_modes, _dispatch_modes = torch._C._len_torch_function_stack, torch._C._len_torch_dispatch_stack
_tracing, _transforms = torch._C._get_tracing_state, torch._C._functorch.peek_interpreter_stack


def is_watched() -> bool:
    """Whether a mode, a tracer or a transform of torch is at work."""
    return bool(
        _function_modes()
        or _dispatch_modes()
        or _tracing() is not None
        or _transforms() is not None
        or forward_ad._current_level >= 0
    )


def refuse_transforms(name: str) -> None:
    """Refuses transforms in which torch would silently take zeros for derivatives of a layer, or fail unclearly.

    Raises:
        DerivativeError: a transform of torch.func, or forward mode, is at work.
    """
    transform = torch._C._functorch.peek_interpreter_stack()
    if transform is not None and transform.key() == torch._C._functorch.TransformType.Grad:
        raise DerivativeError(f"torch.func does not differentiate '{name}'", fix="Use torch.autograd.grad.")
    if forward_ad._current_level >= 0:
        raise no_forward_mode(name)


def no_forward_mode(name: str) -> DerivativeError:
    """The error of a tensor with a tangent."""
    return DerivativeError(
        f"'{name}' has no forward-mode derivative",
        fix="Use reverse mode: torch.autograd.grad, with create_graph=True for higher derivatives.",
    )
