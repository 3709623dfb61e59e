"""Operators with a check of ours in front: what torch itself would not refuse, or gives that nobody wrote.

They are graded *wrapped* in the table of `graph.operators`. What checks views stands in `views`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .views import CHECKED

FILLED = (
    "torch.empty", "torch.empty_like", "torch.empty_strided", "torch.empty_permuted", "torch.Tensor.new_empty",
    "torch.Tensor.new_empty_strided", "aten.empty.memory_format", "aten.empty_like.default",
    "aten.empty_permuted.default", "aten.empty_strided.default", "aten.new_empty.default",
    "aten.new_empty_strided.default",
)  # fmt: skip
"""Operators that give memory as it was found, which could show what this process held there before."""


def filled(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """The same factory with zeros in all of its memory."""

    def make(*args: Any, **kwargs: Any) -> torch.Tensor:
        made = function(*args, **kwargs)
        if made.device.type != "meta" and made.untyped_storage().nbytes():
            whole = made.untyped_storage().nbytes() // made.element_size()
            torch.as_strided(made.detach(), (whole,), (1,), 0).zero_()  # its strides may leave gaps, or overlap
        return made

    make.__dict__["_schema"] = getattr(function, "_schema", None)
    return make


def wrapper(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]] | None:
    """What makes the checked operator of torch's own; None where torch's own is called as it is."""
    if name in CHECKED:
        return lambda function: CHECKED[name]
    if name in FILLED:
        return filled
    return None
