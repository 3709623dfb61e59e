"""Registers an operation with torch.library: the forward and the backward operator, fake kernels, batching rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ...kernels.torch_library import Gradient, define
from ..binding.shapes import batches_of, output_shapes
from ..language.specialization import Slot, Specialization
from .operation import Operation, recall, remember, selected, spread


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
        return _unwrap(operation.run(arguments))

    def fake(*arguments: Any) -> Any:
        return _unwrap(_fake_outputs(spec, arguments))

    def setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        remember(ctx, operation, inputs, (output,) if isinstance(output, torch.Tensor) else output)

    def differentiate(ctx: Any, *gradients: Any) -> Any:
        operation.check_differentiable()
        arguments, needs = recall(ctx, ctx.needs_input_grad)
        whole = _zeros_for_missing(operation, arguments, selected(operation, gradients))
        return spread(operation, needs, backward(*arguments, whole, list(needs)))

    gradient, rule = Gradient(differentiate, setup), _batching_rule(operation)
    return define(operation.name, f"({slots}) -> {returns}", run, fake, gradient=gradient, batching=rule)


def _register_backward(operation: Operation, slots: str) -> Any:
    def run(*arguments: Any) -> list[torch.Tensor]:
        *inputs, gradients, needs = arguments
        return operation.run_backward(inputs, gradients, tuple(needs))

    def fake(*arguments: Any) -> list[torch.Tensor]:
        *inputs, _, needs = arguments
        return [torch.empty_like(inputs[index], memory_format=torch.contiguous_format) for index in needs]

    schema = f"({slots}{', ' if slots else ''}Tensor[] gradients, int[] needs) -> Tensor[]"
    return define(f"{operation.name}_backward", schema, run, fake)


def _unwrap(outputs: Sequence[torch.Tensor]) -> Any:
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def _device_of(spec: Specialization, arguments: Sequence[Any]) -> torch.device:
    return next((a.device for a, s in zip(arguments, spec.slots, strict=True) if not s.is_value), torch.device("cpu"))


def _fake_outputs(spec: Specialization, arguments: Sequence[Any]) -> list[torch.Tensor]:
    batch, _ = batches_of(spec, arguments)
    device = _device_of(spec, arguments)
    return [
        torch.empty(shape, dtype=output.type.dtype, device=device)
        for shape, output in zip(output_shapes(spec, batch, arguments), spec.outputs, strict=True)
    ]


def _zeros_for_missing(operation: Operation, arguments: Sequence[Any], gradients: list[Any]) -> list[torch.Tensor]:
    if all(gradient is not None for gradient in gradients):
        return gradients
    fakes = _fake_outputs(operation.spec, arguments)
    return [
        torch.zeros_like(fakes[index]) if gradient is None else gradient
        for index, gradient in zip(operation.spec.differentiable_outputs, gradients, strict=True)
    ]


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
