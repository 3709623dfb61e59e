"""The signatures of a layer's earlier calls, so that a call like one of them needs no further checks.

Checks of inputs are most of the cost of a small kernel's call, so each is made once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from .autograd import TrainedCall
from .plan import Plan
from .tensor_guards import checks, guards

SEEN = 8
"""Calls that a layer remembers, the latest first."""


class SeenCall:
    """A call that was made before.

    Args:
        tensors: its inputs, which generated code can read without a copy: contiguous tensors on the CPU.
        plan: what ran for them.

    Attributes:
        covers: takes as many inputs; whether they are plain contiguous tensors on the CPU of the shapes and dtypes
            seen, of which the same ones require gradients.
        wanted: the places of those.
    """

    __slots__ = ("call", "covers", "plan", "wanted")

    def __init__(self, tensors: Sequence[torch.Tensor], plan: Plan) -> None:
        self.call: TrainedCall | None = None
        self.plan = plan
        self.wanted = frozenset(i for i, x in enumerate(tensors) if x.requires_grad)
        self.covers: Callable[..., bool] = guards(tensors) or checks(tensors)

    def trained(self) -> TrainedCall:
        """What runs where gradients are wanted."""
        if self.call is None:
            self.call = self.plan.training(self.wanted, None), None
        return self.call
