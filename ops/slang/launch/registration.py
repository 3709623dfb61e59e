"""Registers an operation with torch.library: the forward and the backward operator, fake kernels, batching rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

from ...kernels.torch_library import Gradient, define, in_forward_mode
from ..language.errors import SlangArgumentError
from ..language.specialization import Slot
from .fakes import fake_outputs, zeros_for_missing
from .operation import (
    Operation,
    no_forward_mode,
    recall,
    refuse_batched,
    refuse_tangents,
    remember,
    second_derivative,
    selected,
    spread,
)


def _schema_type(slot: Slot) -> str:
    if not slot.is_value:
        return "Tensor"
    if slot.type.scalar == "bool":
        return "bool"
    return "float" if slot.type.scalar in ("half", "float", "double") else "SymInt"


def register(operation: Operation) -> Any:
    """Defines the forward and the backward operator; returns the forward one."""
    spec = operation.spec
    slots = ", ".join(f"{_schema_type(slot)} s{index}" for index, slot in enumerate(spec.slots))
    results = ", ".join(["Tensor"] * len(spec.outputs))
    returns = results if len(spec.outputs) == 1 else f"({results})"
    backward = _register_backward(operation, slots)

    def run(*arguments: Any) -> Any:
        refuse_tangents(spec, arguments)
        return _unwrap(operation.run(arguments))

    def fake(*arguments: Any) -> Any:
        if in_forward_mode():
            raise no_forward_mode(spec)
        return _unwrap(fake_outputs(spec, arguments))

    def setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        remember(ctx, operation, inputs, (output,) if isinstance(output, torch.Tensor) else output)

    def differentiate(ctx: Any, *gradients: Any) -> Any:
        operation.check_differentiable()
        refuse_batched(spec, gradients)
        arguments, needs = recall(ctx, ctx.needs_input_grad)
        whole = zeros_for_missing(spec, arguments, selected(operation, gradients))
        return spread(operation, needs, backward(*arguments, whole, list(needs)))

    gradient, rule = Gradient(differentiate, setup), _batching_rule(operation)
    return define(operation.name, f"({slots}) -> {returns}", run, fake, gradient=gradient, batching=rule)


def _register_backward(operation: Operation, slots: str) -> Any:
    def run(*arguments: Any) -> list[torch.Tensor]:
        *inputs, gradients, needs = arguments
        return operation.run_backward_by_hand(inputs, gradients, tuple(needs))

    def fake(*arguments: Any) -> list[torch.Tensor]:
        *inputs, gradients, needs = arguments
        fakes = fake_outputs(operation.spec, inputs)
        for index, gradient in zip(operation.spec.differentiable_outputs, gradients, strict=False):
            if gradient.device != fakes[index].device:  # torch runs this for a tensor on meta beside others
                raise SlangArgumentError(
                    "the gradient of an output is on another device than the arguments",
                    where=str(operation.spec.function),
                    got=gradient.device,
                    expected=fakes[index].device,
                )
        return [torch.empty_like(inputs[index], memory_format=torch.contiguous_format) for index in needs]

    def refuse(ctx: Any, *gradients: Any) -> NoReturn:
        raise second_derivative(operation.spec)

    schema = f"({slots}{', ' if slots else ''}Tensor[] gradients, int[] needs) -> Tensor[]"
    gradient = Gradient(refuse)
    return define(f"{operation.name}_backward", schema, run, fake, gradient=gradient, batching=_one_by_one(operation))


def _unwrap(outputs: Sequence[torch.Tensor]) -> Any:
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def _one_by_one(operation: Operation) -> Callable[..., Any]:
    """The rule for `torch.vmap` of the backward operator: one call for each of the batch."""

    def rule(info: Any, in_dims: tuple[Any, ...], *arguments: Any) -> Any:
        dims, spec = tree_flatten(in_dims, is_leaf=lambda each: each is None)
        values = tree_flatten(arguments)[0]
        calls = []
        for place in range(info.batch_size):
            one = [v if d is None else v.select(d, place) for v, d in zip(values, dims, strict=True)]
            calls.append(getattr(torch.ops.tracepack, f"{operation.name}_backward")(*tree_unflatten(one, spec)))
        return [torch.stack(each) for each in zip(*calls, strict=True)], [0] * len(calls[0])

    return rule


def _batching_rule(operation: Operation) -> Callable[..., Any]:
    """The rule for `torch.vmap`: one more size in front of all others."""
    spec = operation.spec
    taken = [len(slot.type.shape) + slot.type.rank for slot in spec.slots]

    def rule(info: Any, in_dims: tuple[int | None, ...], *arguments: Any) -> Any:
        tensors = {i: argument for i, argument in enumerate(arguments) if isinstance(argument, torch.Tensor)}
        moved = {i: t[None] if (axis := in_dims[i]) is None else t.movedim(axis, 0) for i, t in tensors.items()}
        rank = max(t.dim() - taken[i] for i, t in moved.items())
        aligned = list(arguments)
        for i, tensor in moved.items():
            missing = rank - (tensor.dim() - taken[i])
            aligned[i] = tensor[(slice(None),) + (None,) * missing]
        outputs = operation.overload()(*aligned)
        return outputs, (0 if isinstance(outputs, torch.Tensor) else (0,) * len(outputs))

    return rule
