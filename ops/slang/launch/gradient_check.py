"""Chooses how a backward kernel is compiled, and compares it with differences, once, on a few of the user's elements.

Slang 2026.12 silently gives zero for the gradient of a scalar in `scalar * vector`, `vector + scalar`,
`scalar / vector` and the like where both are parameters of one function, on every target, and crashes on some choices
and loops of vectors. With the user's functions inlined before they are differentiated it does neither, so that is how
the kernels of modules with vectors are compiled, where it can be done. Nothing in the compiler's output tells of the
fault, so the numbers are compared too; where no way of compiling agrees with them, it is an error.

A derivative that the user wrote, and one that `detach` stops, disagree with the values on purpose: in such a module the
numbers are those of kernels without them, which the fault is in just the same. Modules without vectors are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ...kernels import cache as disk
from ..compile.codegen import Repair
from ..language.errors import SlangCompileError, SlangGradientError
from ..language.sources import Source
from ..language.specialization import Specialization

_VECTORS = re.compile(r"\b(?:half|float|double)[234]\b|\b(?:vector|matrix)\s*<|\b(?:half|float|double)[234]x[234]\b")
_ELEMENTS = 4
_STEPS = {"half": (2**-3,), "float": (1e-2, 1e-3, 1e-4), "double": (1e-3, 1e-5)}
_FRACTIONS = (1.0, 0.83, 0.59)
"""The fractions of each step whose slopes are compared: no multiple of one period fits all of them."""
_SPREAD = 0.5
"""The largest difference of the gradients within a step, relative to the largest of them."""
_TOLERANCE = {"half": 0.2, "float": 0.05, "double": 0.05}
_ROUNDOFF = {"half": 1e-2, "float": 1e-6, "double": 1e-14}

Forward = Callable[[Sequence[Any]], list[torch.Tensor]]
Backward = Callable[[Sequence[Any], Sequence[torch.Tensor | None], tuple[int, ...]], list[torch.Tensor]]
Ways = tuple[Forward, Backward]


def is_suspect(source: Source) -> bool:
    """Whether the fault of Slang can occur in this module."""
    return any(_VECTORS.search(text) for text in source.texts)


def repair_for(
    source: Source,
    spec: Specialization,
    arguments: Sequence[Any],
    batch: tuple[int, ...],
    ways: Callable[[Repair], Ways],
) -> Repair:
    """The way to compile the backward kernels of a specialization, which is kept on the disk.

    Args:
        source: the module.
        spec: the function.
        arguments: those of the backward call, of which up to four elements are used.
        batch: the sizes of the loop.
        ways: returns the forward and the backward kernel for a way of compiling.

    Raises:
        SlangGradientError: the gradient disagrees with the values in all ways of compiling it.
    """
    path = disk.place("slang", "checks", f"{disk.key('repair', 4, source.key, spec.plain())}.json")
    known = disk.read_json(path)
    if known is None:
        few = [_few(spec, i, argument, batch) for i, argument in enumerate(arguments)]
        known = _judge(source, spec, few, ways)
        disk.write_json(path, known)
    if known["wrong"]:
        raise SlangGradientError(
            f"Slang's gradient of {', '.join(map(repr, known['wrong']))} does not agree with the function's values",
            where=str(spec.function),
            fix="Slang loses the gradient of a scalar in scalar * vector, vector + scalar and scalar / vector: write "
            "vector * scalar, or float3(scalar) * vector.",
        )
    repair: Repair = known["repair"]
    return repair


def _judge(source: Source, spec: Specialization, few: Sequence[Any], ways: Callable[[Repair], Ways]) -> dict[str, Any]:
    wrong: list[str] = []
    for repair in repairs(source):
        try:
            if source.has_own_derivatives:  # the kernel must compile with them, too
                ways(repair)[1](few, *_asked(spec, few, ways(repair)[0]))
            found = _wrong_in(source, spec, few, ways, repair)
        except SlangCompileError:
            continue
        if not found:
            return {"repair": repair, "wrong": []}
        wrong = wrong or found
    return {"repair": "", "wrong": wrong}


def repairs(source: Source) -> tuple[Repair, ...]:
    """The ways to compile the backward kernels of a module with vectors, the first ones first.

    A function whose derivative stands elsewhere, under `[BackwardDerivativeOf(f)]`, would lose it if it were inlined.
    """
    return ("",) if source.has_derivatives_elsewhere else ("inlined", "")


def _wrong_in(
    source: Source, spec: Specialization, few: Sequence[Any], ways: Callable[[Repair], Ways], repair: Repair
) -> list[str]:
    """The parameters whose gradient is wrong in kernels of one way, without the user's own derivatives."""
    if not source.has_own_derivatives:
        return _wrong(spec, few, ways(repair))
    if spec.function.name in source.given_derivatives:  # stripped of it, it may not be differentiable at all
        return []
    try:
        return _wrong(spec, few, ways("stripped inlined" if repair else "stripped"))
    except SlangCompileError:  # without the user's derivatives it has none to compare
        return []


def _asked(spec: Specialization, few: Sequence[Any], forward: Forward) -> tuple[list[torch.Tensor], tuple[int, ...]]:
    outputs = forward(few)
    return [torch.ones_like(outputs[number]) for number in spec.differentiable_outputs], spec.differentiable_slots


def _wrong(spec: Specialization, few: Sequence[Any], ways: Ways) -> list[str]:
    return [spec.slot_name(index) for index in spec.differentiable_slots if _disagrees(spec, few, index, ways)]


def _few(spec: Specialization, index: int, argument: Any, batch: tuple[int, ...]) -> Any:
    """The first elements of an argument, one for each of the first calls."""
    if spec.slots[index].is_value:
        return argument
    own = spec.slots[index].type.shape
    few = argument.detach().expand((*batch, *own)).reshape((-1, *own))[:_ELEMENTS]
    return few.cpu().contiguous()


def _disagrees(spec: Specialization, few: Sequence[Any], index: int, ways: Ways) -> bool:
    """Whether the slope in some direction differs from the gradient at every element where it can be told.

    It can where some step is short for the function: the slopes over parts of it agree, and the gradients at its ends
    and in its middle are not far apart; a right slope lies between them. A function that turns within every step, such
    as `sin(43758 * x)`, has neither.
    """
    judged = torch.zeros(len(few[index]), dtype=torch.bool)
    off = judged.clone()
    for step in _STEPS[spec.slots[index].type.scalar]:
        told, wrong = _compare(spec, few, index, step, ways)
        off |= told & ~judged & wrong
        judged |= told
    return bool(judged.any() and off[judged].all())


def _compare(
    spec: Specialization, few: Sequence[Any], index: int, step: float, ways: Ways
) -> tuple[torch.Tensor, torch.Tensor]:
    """For each element whether a step tells the slope, and whether the gradient is not that slope."""
    value, scalar = few[index], spec.slots[index].type.scalar
    direction = _direction(value)
    size = value.double().abs().reshape(len(value), -1).amax(1).clamp(min=1).reshape(-1, *[1] * (value.dim() - 1))
    ends = [value + (sign * step * size * direction).to(value.dtype) for sign in (1, -1)]
    gradients = torch.stack([_gradient(spec, _with(few, index, at), index, direction, ways) for at in (value, *ends)])
    slopes, noises = zip(
        *(_slope(spec, few, index, fraction * step * size * direction, ways[0]) for fraction in _FRACTIONS), strict=True
    )
    slope, noise = torch.stack(slopes), torch.stack(noises).amax(0)
    least, most, noise = gradients.amin(0), gradients.amax(0), noise + 1e-4

    def alike(each: torch.Tensor, part: float) -> torch.Tensor:
        spread = each.amax(0) - each.amin(0)
        return spread.isfinite() & (spread <= part * each.abs().amax(0) + noise)

    told = alike(slope, _TOLERANCE[scalar] / 2) & alike(gradients, _SPREAD)
    slack = _TOLERANCE[scalar] * torch.maximum(slope[-1].abs(), gradients.abs().amax(0)) + noise
    return told, (slope[-1] < least - slack) | (slope[-1] > most + slack)


def _gradient(
    spec: Specialization, few: Sequence[Any], index: int, direction: torch.Tensor, ways: Ways
) -> torch.Tensor:
    """For each element the gradient of the sum of its outputs along the direction."""
    ones, _ = _asked(spec, few, ways[0])
    found = ways[1](few, ones, (index,))[0].double() * direction.double()
    return found.reshape(len(found), -1).sum(1)


def _with(few: Sequence[Any], index: int, value: torch.Tensor) -> list[Any]:
    return [*few[:index], value, *few[index + 1 :]]


def _slope(
    spec: Specialization, few: Sequence[Any], index: int, step: torch.Tensor, forward: Forward
) -> tuple[torch.Tensor, torch.Tensor]:
    """The central differences of the elements, and what rounding may add to them."""
    value = few[index]
    moved = [value + (sign * step).to(value.dtype) for sign in (1, -1)]
    taken = (moved[0] - moved[1]).double()  # the step after rounding
    along = (taken / _direction(value).double()).reshape(len(value), -1).mean(1)
    above, below = (_total(spec, forward(_with(few, index, each))) for each in moved)
    noise = _ROUNDOFF[spec.slots[index].type.scalar] * (above.abs() + below.abs()) / along.abs()
    return (above - below) / along, noise


def _direction(value: torch.Tensor) -> torch.Tensor:
    """A direction with different components, so that no error cancels in a sum."""
    count = value[0].numel()
    own = torch.linspace(1.0, 1.5, count, dtype=torch.float64).reshape(value.shape[1:])
    return own.to(value.dtype).expand(value.shape)


def _total(spec: Specialization, outputs: Sequence[torch.Tensor]) -> torch.Tensor:
    """For each element the sum of all its differentiable outputs."""
    found = [outputs[number].double() for number in spec.differentiable_outputs]
    return torch.stack([each.reshape(len(each), -1).sum(1) for each in found]).sum(0)
