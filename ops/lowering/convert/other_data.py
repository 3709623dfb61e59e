"""Other data than the example's, on which a lowered body and its model are compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch


def is_even(thing: Any) -> bool:
    """Whether all elements of a tensor are alike, so that a factor, an order or a sum may not show."""
    plain = isinstance(thing, torch.Tensor) and thing.layout is torch.strided and thing.numel() > 0
    return plain and bool((thing == thing.flatten()[0]).all())


def uneven(thing: Any) -> Any:
    """A tensor like one whose elements are all alike, with others; integers are often indices, and at most 1 then."""
    if not is_even(thing):
        return thing
    reach = 1 + sum((size - 1) * step for size, step in zip(thing.shape, thing.stride(), strict=True))
    steps, whole = torch.arange(reach, device=thing.device), not (thing.is_floating_point() or thing.is_complex())
    memory = steps % 2 == 0 if whole else thing.flatten()[0] + (steps % 7) / 4 + 0.5
    return memory.to(thing.dtype).as_strided(thing.shape, thing.stride())


def masked(thing: Any, mask: bool) -> Any:
    """A mask that is the same everywhere, where it was not: the fast paths of attention answer otherwise for one."""
    if not isinstance(thing, torch.Tensor) or thing.layout is not torch.strided or thing.numel() == 0:
        return thing
    if thing.dtype is torch.bool:
        return thing if bool((thing == mask).all()) else _filled(thing, mask)
    adds = thing.is_floating_point() and bool(thing.isneginf().any())  # one that is added to scores
    return _filled(thing, -torch.inf if mask else 0.0) if adds else thing


_FACTORS = (1.0, -30.0, 1e3, -1e5, 0.0)
_NO_NUMBERS = (1.0, torch.nan, 1.0, 1.0, torch.inf, 1.0, -torch.inf)


def hard(tensors: Sequence[Any]) -> Iterator[list[Any]]:
    """The tensors with floating numbers that few examples hold: large and negative ones, NaN and infinities.

    A model that bounds or cleans its numbers at one size alone shows it by these.
    """
    if any(isinstance(each, torch.Tensor) and _is_floating(each) for each in tensors):
        for factors in (_FACTORS, _NO_NUMBERS):
            yield [_times(each, factors) for each in tensors]


def _is_floating(tensor: torch.Tensor) -> bool:
    return tensor.layout is torch.strided and tensor.dtype.is_floating_point and tensor.numel() > 0


def _times(thing: Any, factors: Sequence[float]) -> Any:
    if not isinstance(thing, torch.Tensor) or not _is_floating(thing):
        return thing
    count = -(-thing.numel() // len(factors))
    cycle = torch.tensor(factors, dtype=torch.float64, device=thing.device).repeat(count)[: thing.numel()]
    return (thing.detach().double() * cycle.reshape(thing.shape)).to(thing.dtype)


def _filled(tensor: torch.Tensor, value: float) -> torch.Tensor:
    """A tensor of one value, with the strides of another one."""
    reach = 1 + sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True))
    return tensor.new_full((reach,), value).as_strided(tensor.shape, tensor.stride())
