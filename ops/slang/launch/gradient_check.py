"""Compares a new backward kernel with central differences, once, on a few of the user's own elements.

Slang 2026.12 silently gives zero for the gradient of a scalar in `scalar * vector`, `vector + scalar`,
`scalar / vector` and the like, on every target; `vector * scalar` and `float3(scalar) * vector` are right. Nothing
in the compiler's output tells, so the numbers must. Functions without vectors, and those that define or stop
gradients on purpose, are left alone.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ...kernels import cache as disk
from ..language.sources import Source
from ..language.specialization import Specialization

_VECTORS = re.compile(r"\b(?:half|float|double)[234]\b|\b(?:vector|matrix)\s*<|\b(?:half|float|double)[234]x[234]\b")
_ON_PURPOSE = re.compile(r"\bBackwardDerivative|\bdetach\s*\(|\bPreferRecompute\b")
_ELEMENTS = 4
_STEP = 1e-2
_TOLERANCE = 0.05

Forward = Callable[[Sequence[Any]], list[torch.Tensor]]
Backward = Callable[[Sequence[Any], Sequence[torch.Tensor | None], tuple[int, ...]], list[torch.Tensor]]


class SlangGradientWarning(UserWarning):
    """A gradient that Slang computed does not agree with the function's values."""


def is_suspect(source: Source) -> bool:
    """Whether the fault could touch this module."""
    text = "\n".join((source.text, *source.imports.values()))
    return bool(_VECTORS.search(text)) and not _ON_PURPOSE.search(text)


def check_gradients(
    source: Source,
    spec: Specialization,
    arguments: Sequence[Any],
    batch: tuple[int, ...],
    ways: tuple[Forward, Backward],
) -> None:
    """Warns of each scalar argument whose gradient disagrees with the values; remembers the answer on the disk.

    Args:
        source: the module, for the cache.
        spec: the function.
        arguments: of the backward call; up to four elements of them are used.
        batch: the sizes of the loop.
        ways: the forward and the backward kernel.
    """
    scalars = [
        i for i in spec.differentiable_slots if spec.slots[i].type.scalar != "half" and not spec.slots[i].type.shape
    ]
    path = disk.folder("slang", "checks") / f"{disk.key(source.key, spec.plain())}.json"
    wrong = disk.read_json(path)
    if wrong is None:
        few = [_few(spec, i, argument, batch) for i, argument in enumerate(arguments)]
        wrong = [spec.slot_name(index) for index in scalars if _disagrees(spec, few, index, ways)]
        disk.write_json(path, wrong)
    for name in wrong:
        warnings.warn(
            f"{spec.function}: Slang's gradient of {name!r} does not agree with the function's values. Slang loses the "
            f"gradient of a scalar in scalar * vector, vector + scalar and scalar / vector: write vector * scalar, or "
            f"float3(scalar) * vector.",
            SlangGradientWarning,
            stacklevel=2,
        )


def _few(spec: Specialization, index: int, argument: Any, batch: tuple[int, ...]) -> Any:
    """The first elements of an argument, one for each of the first calls."""
    if spec.slots[index].is_value:
        return argument
    own = spec.slots[index].type.shape
    return argument.detach().expand((*batch, *own)).reshape((-1, *own))[:_ELEMENTS].contiguous()


def _disagrees(spec: Specialization, few: Sequence[Any], index: int, ways: tuple[Forward, Backward]) -> bool:
    """Whether the slope differs from the gradient at every one of the elements."""
    forward, backward = ways
    value = few[index]
    step = _STEP * value.abs().clamp(min=1)
    moved = [[*few[:index], value + sign * step, *few[index + 1 :]] for sign in (1, -1)]
    above, below = (_total(spec, forward(each)) for each in moved)
    slope = (above - below) / (2 * step.double())
    ones = [torch.ones_like(forward(few)[number]) for number in spec.differentiable_outputs]
    gradient = backward(few, ones, (index,))[0].double()
    roundoff = 1e-5 * (above.abs() + below.abs()) / step.double() * _STEP
    off = (slope - gradient).abs() > _TOLERANCE * torch.maximum(slope.abs(), gradient.abs()) + roundoff + 1e-4
    return bool(off.all() and slope.isfinite().all() and gradient.isfinite().all() and off.numel())


def _total(spec: Specialization, outputs: Sequence[torch.Tensor]) -> torch.Tensor:
    """For each element the sum of all its differentiable outputs."""
    found = [outputs[number].double() for number in spec.differentiable_outputs]
    return torch.stack([each.reshape(len(each), -1).sum(1) for each in found]).sum(0)
