"""The bridge to torch's autograd: one function for every layer, shape and set of wanted gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from .errors import DerivativeError
from .gradients import Reorder, Training


class Apply(torch.autograd.Function):
    """Runs a `Training`; gradients that are to be differentiated again are themselves run as one."""

    @staticmethod
    def forward(ctx: Any, training: Training, reorder: Reorder | None, *inputs: torch.Tensor) -> Any:
        """Runs the forward and keeps what the backward reads, and what higher derivatives are taken by."""
        outputs = training.forward(inputs)
        everything = [*inputs, *outputs]
        ctx.training, ctx.reorder, ctx.count = training, reorder, len(inputs)
        ctx.save_for_backward(*(everything[i] for i in (*training.saved, *training.kept)))
        results = outputs[: training.outputs]
        ctx.mark_non_differentiable(*(t for t in results if not t.is_floating_point()))
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        """Runs the backward; gradients that nobody wants are None."""
        training: Training = ctx.training
        seeds = [gradients[i] for i in training.seeds]
        if ctx.reorder is not None:
            seeds = list(ctx.reorder(seeds))
        seeds = [s.contiguous().resolve_neg() for s in seeds]
        saved = ctx.saved_tensors
        count = len(training.saved)
        if torch.is_grad_enabled():  # asked for with create_graph=True
            found = _differentiable(training, [*saved[count:], *seeds])
        else:
            found = training.backward([*saved[:count], *seeds])
        results: list[torch.Tensor | None] = [None] * ctx.count
        for place, gradient in zip(training.gradients, found, strict=True):
            results[place] = gradient
        return (None, None, *results)


def _differentiable(training: Training, inputs: list[torch.Tensor]) -> Sequence[torch.Tensor]:
    """The gradients from the inputs that they depend on, and the seeds; computed anew where they are differentiated."""
    wanted = frozenset(i for i, x in enumerate(inputs) if x.requires_grad)
    again = training.higher(wanted)
    if not wanted:
        return again.forward(inputs)[: again.outputs]
    # Torch leaves it untyped.
    found: Sequence[torch.Tensor] = Apply.apply(again, None, *inputs)  # type: ignore[no-untyped-call]
    return found


def no_second_derivative(name: str) -> DerivativeError:
    """The error of a recorded operator's gradient that is differentiated."""
    return DerivativeError(
        f"second derivatives of '{name}' are not available where it was recorded",
        fix="Take them of the layer itself, outside of scripted and compiled models.",
    )
