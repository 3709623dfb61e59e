"""The bridge to torch's autograd: one function for every layer, shape and set of wanted gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ...kernels.torch_library import are_batched
from ..expr.errors import DerivativeError
from .plan import Training
from .reorder import Reorder


class Apply(torch.autograd.Function):
    """Runs a `Training`; gradients that are to be differentiated again are themselves run as one."""

    @staticmethod
    def forward(ctx: Any, training: Training, reorder: Reorder | None, *inputs: torch.Tensor) -> Any:
        """Runs the forward and keeps what the backward reads, and what higher derivatives are taken by."""
        outputs = training.forward(inputs)
        everything = [*inputs, *outputs]
        ctx.training, ctx.reorder, ctx.count = training, reorder, len(inputs)
        ctx.save_for_backward(*(everything[i] for i in training.saved))
        # Not saved like the others: a caller without second derivatives may change tensors that only these would read.
        ctx.kept = [(inputs[i], inputs[i]._version) for i in training.kept]
        results = outputs[: training.outputs]
        if training.integers:
            ctx.mark_non_differentiable(*(results[i] for i in training.integers))
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        """Runs the backward; gradients that nobody wants are None."""
        refuse_batched(gradients)
        training: Training = ctx.training
        seeds = training.read(gradients)
        if training.taken is not None:
            seeds = training.taken.check(ctx.reorder(seeds), gradients[0].device)
        seeds = [s.contiguous().resolve_neg() for s in seeds]
        if torch.is_grad_enabled():  # asked for with create_graph=True
            found = _differentiable(training, [*_unchanged(ctx.kept), *seeds], ctx.saved_tensors)
        else:
            found = training.backward([*ctx.saved_tensors, *seeds])
        results: list[torch.Tensor | None] = [None] * ctx.count
        for place, gradient in zip(training.gradients, found, strict=True):
            results[place] = gradient
        return (None, None, *results)


apply: Callable[..., Sequence[torch.Tensor]] = super(torch.autograd.Function, Apply).apply
"""`Apply.apply(training, reorder, *inputs)` with a type, and without torch's looking for transforms: a layer refused
those before, and a small layer's call with its gradient takes 4 us of 45 less."""


def _differentiable(
    training: Training, inputs: list[torch.Tensor], saved: Sequence[torch.Tensor]
) -> Sequence[torch.Tensor]:
    """The gradients from the inputs that they depend on and the seeds; computed anew where they are differentiated."""
    wanted = frozenset(i for i, x in enumerate(inputs) if x.requires_grad)
    if not wanted:
        return training.backward([*saved, *inputs[len(training.kept) :]])
    return apply(training.higher(wanted), None, *inputs)


def refuse_batched(gradients: Sequence[torch.Tensor]) -> None:
    """Refuses the several gradients at once of `is_grads_batched=True` and of torch.vmap: they have no memory.

    Raises:
        DerivativeError: they are given.
    """
    if are_batched(gradients):
        raise DerivativeError(
            "gradients of layers are not taken several at once",
            fix="Leave is_grads_batched=True, vectorize=True and torch.vmap out.",
        )


def _unchanged(kept: list[tuple[torch.Tensor, int]]) -> list[torch.Tensor]:
    """The inputs, if they are unchanged.

    Raises:
        DerivativeError: one was changed in place since.
    """
    for x, version in kept:
        if x._version != version:
            raise DerivativeError(
                "an input was changed in place after the layer read it, and its gradient is to be differentiated",
                got=f"a tensor of shape {tuple(x.shape)} at version {x._version}, expected version {version}",
                fix="Change a copy.",
            )
    return [x for x, _ in kept]


def no_second_derivative(name: str) -> DerivativeError:
    """The error of a recorded operator's gradient that is differentiated."""
    return DerivativeError(
        f"second derivatives of '{name}' are not available where it was recorded",
        fix="Take them of the layer itself, outside of scripted and compiled models.",
    )
