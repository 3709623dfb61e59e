"""Checks that tensors are as others were: plain and contiguous on the CPU, of the same sizes and types.

Torch's compiler has such guards, which take .3 us for two tensors; in Python they take ten times that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

PLAIN = (torch.Tensor, torch.nn.Parameter)
_Guards: Any = getattr(getattr(torch._C._dynamo, "guards", None), "TensorGuards", None)
"""Private to torch, so there is a way without."""


def readable(x: torch.Tensor) -> torch.Tensor:
    """A tensor whose memory is what it is; one of the zeros that torch keeps without memory gets some."""
    return torch.zeros_like(x) if x._is_zerotensor() else x.contiguous().resolve_neg()


def are_plain(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether the memory of tensors is what they are: the gradient of a sum is one number, expanded."""
    return all(
        type(x) in PLAIN
        and x.layout is torch.strided
        and x.is_contiguous()
        and not x.is_neg()
        and not x._is_zerotensor()
        for x in tensors
    )


def guards(tensors: Sequence[torch.Tensor]) -> Callable[..., bool] | None:
    """The check by torch's guards, which find no tensor twice in a call; None where they do not serve.

    Args:
        tensors: plain ones, see `are_plain`: what passes has their strides, whatever these are.
    """
    if _Guards is None or len({id(x) for x in tensors}) < max(len(tensors), 1):
        return None
    sizes, strides = [list(x.shape) for x in tensors], [list(x.stride()) for x in tensors]
    try:
        guards = _Guards(*tensors, dynamic_dims_sizes=sizes, dynamic_dims_strides=strides)
        check: Callable[..., bool] = guards.check
        return check if check(*tensors) else None
    except (TypeError, AttributeError):
        return None


def checks(tensors: Sequence[torch.Tensor]) -> Callable[..., bool]:
    """The same check in Python."""
    kinds = [(x.shape, x.dtype, x.requires_grad) for x in tensors]

    def covers(*inputs: object) -> bool:
        for x, (shape, dtype, wanted) in zip(inputs, kinds, strict=True):
            if type(x) not in PLAIN or x.shape != shape or x.dtype is not dtype:  # type: ignore[attr-defined]  # by type
                return False
            if not x.is_cpu or not x.is_contiguous() or x.is_neg():  # type: ignore[attr-defined]  # a tensor, see above
                return False
            if x.requires_grad is not wanted:  # type: ignore[attr-defined]  # a tensor, see above
                return False
        return True

    return covers
