"""The bridge to torch's autograd: one function for every layer, shape and set of wanted gradients."""

from __future__ import annotations

from typing import Any

import torch

from .gradients import Reorder, Training


class Apply(torch.autograd.Function):
    """Runs a `Training`; second derivatives are not available."""

    @staticmethod
    def forward(ctx: Any, training: Training, reorder: Reorder | None, *inputs: torch.Tensor) -> Any:
        """Runs the forward and keeps what the backward reads."""
        outputs = training.forward(inputs)
        everything = [*inputs, *outputs]
        ctx.training, ctx.reorder, ctx.count = training, reorder, len(inputs)
        ctx.save_for_backward(*(everything[i] for i in training.saved))
        results = outputs[: training.outputs]
        ctx.mark_non_differentiable(*(t for t in results if not t.is_floating_point()))
        return tuple(results)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        """Runs the backward; gradients that nobody wants are None."""
        training: Training = ctx.training
        seeds = [gradients[i] for i in training.seeds]
        if ctx.reorder is not None:
            seeds = list(ctx.reorder(seeds))
        found = training.backward([*ctx.saved_tensors, *(s.contiguous().resolve_neg() for s in seeds)])
        results: list[torch.Tensor | None] = [None] * ctx.count
        for place, gradient in zip(training.gradients, found, strict=True):
            results[place] = gradient
        return (None, None, *results)
