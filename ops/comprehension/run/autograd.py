"""The bridge to torch's autograd: one function for every layer, shape and set of wanted gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ...kernels.torch_library import are_batched
from ..expr.errors import DerivativeError
from .plan import Training
from .reorder import Reorder
from .tensor_guards import readable


class Apply(torch.autograd.Function):
    """Runs a `Training`; gradients that are to be differentiated again are themselves run as one."""

    @staticmethod
    def forward(ctx: Any, call: TrainedCall, *inputs: torch.Tensor) -> Any:
        """Runs the forward and keeps what the backward reads, and what higher derivatives are taken by."""
        training = call[0]
        outputs = training.forward(inputs)
        everything = (*inputs, *outputs)
        ctx.call = call
        ctx.save_for_backward(*[everything[i] for i in training.saved])
        # Not saved like the others: a caller without second derivatives may change tensors that only these would read.
        ctx.kept = [(inputs[i], inputs[i]._version) for i in training.kept]
        results = outputs[: training.outputs]
        if training.integers:
            ctx.mark_non_differentiable(*(results[i] for i in training.integers))
        return results[0] if len(results) == 1 else tuple(results)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        """Runs the backward; gradients that nobody wants are None."""
        training, reorder = ctx.call
        if training.reads(gradients) and not torch.is_grad_enabled():
            found = training.backward((*ctx.saved_tensors, *gradients))
        else:
            found = _found(ctx, training, reorder, gradients)
        if len(found) == len(ctx.needs_input_grad) - 1:
            return (None, *found)
        results: list[torch.Tensor | None] = [None] * len(ctx.needs_input_grad)
        for place, gradient in zip(training.gradients, found, strict=True):
            results[place + 1] = gradient
        return tuple(results)


def _found(
    ctx: Any, training: Training, reorder: Reorder | None, gradients: Sequence[torch.Tensor]
) -> Sequence[torch.Tensor]:
    """The gradients of inputs from any gradients of outputs."""
    refuse_batched(gradients)
    seeds = training.read(gradients)
    if training.taken is not None:
        assert reorder is not None
        seeds = training.taken.check(reorder(seeds), gradients[0].device)
    seeds = [readable(s) for s in seeds]
    if torch.is_grad_enabled():  # asked for with create_graph=True
        return _differentiable(training, [*_unchanged(ctx.kept), *seeds], ctx.saved_tensors)
    return training.backward([*ctx.saved_tensors, *seeds])


apply: Callable[..., Any] = super(torch.autograd.Function, Apply).apply
"""`Apply.apply(call, *inputs)`, one tensor or a tuple of them, without torch's looking for transforms: a layer refused
those before, and a small layer's call with its gradient takes 4 us of 45 less."""
TrainedCall = tuple[Training, Reorder | None]
"""What runs, and what reorders the gradients of its outputs."""


def _differentiable(
    training: Training, inputs: list[torch.Tensor], saved: Sequence[torch.Tensor]
) -> Sequence[torch.Tensor]:
    """The gradients from the inputs that they depend on and the seeds; computed anew where they are differentiated."""
    wanted = frozenset(i for i, x in enumerate(inputs) if x.requires_grad)
    if not wanted:
        return training.backward([*saved, *inputs[len(training.kept) :]])
    found = apply((training.higher(wanted), None), *inputs)
    return found if isinstance(found, tuple) else (found,)


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
