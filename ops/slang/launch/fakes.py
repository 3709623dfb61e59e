"""Tensors of the sizes that a call of a specialization has, without the call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ..binding.shapes import batches_of, output_shapes
from ..language.specialization import Specialization


def _device_of(spec: Specialization, arguments: Sequence[Any]) -> torch.device:
    return next((a.device for a, s in zip(arguments, spec.slots, strict=True) if not s.is_value), torch.device("cpu"))


def fake_outputs(spec: Specialization, arguments: Sequence[Any]) -> list[torch.Tensor]:
    """New tensors of the outputs' sizes, with nothing computed."""
    batch, _ = batches_of(spec, arguments)
    device = _device_of(spec, arguments)
    return [
        torch.empty(shape, dtype=output.type.dtype, device=device)
        for shape, output in zip(output_shapes(spec, batch, arguments), spec.outputs, strict=True)
    ]


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
