"""Equal numbers that are ordered: torch leaves open in which order, and runtimes choose another one.

The numbers that come out are the same, their places are not, nor what is looked up by these. ONNX Runtime gives the
first of equal numbers first, which `topk` of torch does not keep to, nor its sorts of more than 16 numbers, unless they
are asked to be stable; OpenVINO does not sort.

A sigmoid and a hyperbolic tangent make equal numbers of different ones: from 17 on, torch's sigmoid is 1, and the first
one is the largest. Runtimes are 1e-7 beside it, and choose another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from .small_numbers import SMALLEST, Followed
from .step_checks import StepChecks

_SATURATING = ("sigmoid", "expit", "tanh")
_CLOSE = 1e-6  # of a number; both are computed within 1e-7
STABLE = 16  # so many numbers torch sorts in an order that is stable


def without_ties(name: str, args: Sequence[Any], given: Mapping[str, Any], found: Any) -> Iterator[torch.Tensor]:
    """Whether no two numbers are equal of which a function gives the places, as tensors.

    Args:
        name: the plain name of the function.
        args: its arguments.
        given: those by name.
        found: its result.
    """
    values = found[0] if isinstance(found, tuple) else (*args, given.get("input"))[0]
    if name not in ("topk", "sort", "argsort") or given.get("stable") or not values.numel() or not values.dim():
        return
    place = 2 if name == "topk" else 1
    dim = args[place] if len(args) > place else given.get("dim", -1)
    ordered = values if name == "sort" else values.sort(dim)[0]
    size = ordered.shape[dim]
    if name == "topk":
        least, most = values.amin(dim, keepdim=True), values.amax(dim, keepdim=True)
        inside = (args[0] >= least) & (args[0] <= most)
        yield (inside.sum(dim) == size).all()
        ordered = ordered.movedim(dim, -1)
        yield (ordered[..., 1:] != ordered[..., :-1]).all()
    else:  # the first one is beside the last, which is another one unless all are equal; slices would fix the size
        apart = (ordered != ordered.roll(1, dim)).all()
        yield apart | (torch.ones_like(values).sum(dim) <= STABLE).all()


class TieChecks:
    """Finds, while a region runs to be exported, which numbers it orders that are equal, or that torch may find so."""

    def __init__(self) -> None:
        self._saturating, self._steps = Followed(_SATURATING), StepChecks()

    def of(self, name: str, args: Sequence[Any], given: Mapping[str, Any], found: Any) -> Iterator[torch.Tensor]:
        """Whether there are none of which a function gives the places, as tensors.

        Args:
            name: the plain name of the function.
            args: its arguments.
            given: those by name.
            found: its result.
        """
        yield from without_ties(name, args, given, found)
        yield from self._steps.of(name, args, given, found)
        values = self._saturating.among(name.removeprefix("special_"), args, given, found)
        if values and name == "topk":
            yield _chosen_apart(values[0], found[0], args[2] if len(args) > 2 else given.get("dim", -1))
        elif values and (name in ("argmax", "argmin") or (name in ("max", "min") and isinstance(found, tuple))):
            signed, dim = values[0] if name in ("argmax", "max") else -values[0], _argument(args, given)
            yield _best_apart(*((signed.flatten(), 0) if dim is None else (signed, dim)))


def _argument(args: Sequence[Any], given: Mapping[str, Any]) -> Any:
    return args[1] if len(args) > 1 else given.get("dim")


def _best_apart(values: torch.Tensor, dim: int) -> torch.Tensor:
    """Whether no other number is as large as the largest one but for rounding."""
    best = values.amax(dim, keepdim=True)
    near = (values >= best - _CLOSE * best.abs()).sum(dim, keepdim=True)
    return ((near == 1) | (best.abs() < SMALLEST)).all()


def _chosen_apart(values: torch.Tensor, chosen: torch.Tensor, dim: int) -> torch.Tensor:
    """Whether no number is as large as one that is chosen but for rounding."""
    least, most = chosen.amin(dim, keepdim=True), chosen.amax(dim, keepdim=True)
    inside = (values >= least - _CLOSE * least.abs()) & (values <= most + _CLOSE * most.abs())
    ordered = chosen.movedim(dim, -1)
    apart = (ordered[..., 1:] - ordered[..., :-1]).abs() > _CLOSE * ordered[..., 1:].abs()
    alone = (inside.sum(dim) == chosen.shape[dim]).all() & apart.all()
    return alone | (chosen.abs() < SMALLEST).all()
