"""Other data than the example's, on which a lowered body and its model are compared."""

from __future__ import annotations

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


def _filled(tensor: torch.Tensor, value: float) -> torch.Tensor:
    """A tensor of one value, with the strides of another one."""
    reach = 1 + sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True))
    return tensor.new_full((reach,), value).as_strided(tensor.shape, tensor.stride())
