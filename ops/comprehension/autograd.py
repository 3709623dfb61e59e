"""The bridge to torch's autograd: one function for every layer, shape and set of wanted gradients."""

from __future__ import annotations

from typing import Any, NoReturn

import torch

from .errors import DerivativeError
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
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        """Runs the backward; gradients that nobody wants are None."""
        training: Training = ctx.training
        with torch.no_grad():
            seeds = [gradients[i] for i in training.seeds]
            if ctx.reorder is not None:
                seeds = list(ctx.reorder(seeds))
            found = training.backward([*ctx.saved_tensors, *(s.contiguous().resolve_neg() for s in seeds)])
        if torch.is_grad_enabled():  # asked for with create_graph=True
            everything = [*found, *ctx.saved_tensors, *gradients]
            # Torch leaves it untyped.
            found = Final.apply(training.name, len(found), *everything)  # type: ignore[no-untyped-call]
        results: list[torch.Tensor | None] = [None] * ctx.count
        for place, gradient in zip(training.gradients, found, strict=True):
            results[place] = gradient
        return (None, None, *results)


class Final(torch.autograd.Function):
    """Gradients as results that cannot be differentiated again.

    Torch's `once_differentiable` does not see that a gradient depends on what was saved: a gradient penalty would have
    no gradient, without a word.
    """

    @staticmethod
    def forward(ctx: Any, name: str, count: int, *tensors: torch.Tensor) -> Any:
        """The first tensors, which depend on all of them."""
        ctx.name = name
        return tuple(t.view_as(t) for t in tensors[:count])

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> NoReturn:
        """Says that there is no second derivative."""
        raise no_second_derivative(ctx.name)


def no_second_derivative(name: str) -> DerivativeError:
    """The error of a gradient that is differentiated."""
    return DerivativeError(
        f"second derivatives of '{name}' are not available", fix="Write the formula in torch where they are needed."
    )
