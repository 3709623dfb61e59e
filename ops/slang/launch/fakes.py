"""Tensors of the sizes that a call of a specialization has, without the call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ..binding.shapes import batches_of, output_shapes
from ..language.errors import SlangArgumentError
from ..language.specialization import Specialization


def _device_of(spec: Specialization, arguments: Sequence[Any]) -> torch.device:
    return next((a.device for a, s in zip(arguments, spec.slots, strict=True) if not s.is_value), torch.device("cpu"))


def fake_outputs(spec: Specialization, arguments: Sequence[Any]) -> list[torch.Tensor]:
    """New tensors of the outputs' sizes, with nothing computed.

    Raises:
        SlangArgumentError: the tensors are on several devices.
    """
    batch, _ = batches_of(spec, arguments)
    device = _device_of(spec, arguments)
    for index, (slot, argument) in enumerate(zip(spec.slots, arguments, strict=True)):
        if not slot.is_value and argument.device != device:  # torch runs this for a tensor on meta beside others
            raise on_another_device(spec, index, argument.device, device)
    return [
        torch.empty(shape, dtype=output.type.dtype, device=device)
        for shape, output in zip(output_shapes(spec, batch, arguments), spec.outputs, strict=True)
    ]


def on_another_device(
    spec: Specialization, index: int, got: torch.device, expected: torch.device
) -> SlangArgumentError:
    """The error of a tensor that is not where the others are."""
    return SlangArgumentError(
        f"the tensor for {spec.slot_name(index)!r} is on another device than the others",
        where=str(spec.function),
        got=got,
        expected=expected,
        fix="Move all tensors of a call to one device.",
    )


def zeros_for_missing(
    spec: Specialization, arguments: Sequence[Any], gradients: Sequence[torch.Tensor | None]
) -> list[torch.Tensor]:
    """The gradients of the differentiable outputs, with zeros where there is none."""
    if all(gradient is not None for gradient in gradients):
        return list(gradients)  # type: ignore[arg-type]  # mypy does not follow `all`
    fakes = fake_outputs(spec, arguments)
    return [
        torch.zeros_like(fakes[index]) if gradient is None else gradient
        for index, gradient in zip(spec.differentiable_outputs, gradients, strict=True)
    ]
