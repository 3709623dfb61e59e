"""Other data for a side of a choice that fails on an example which does not take it: of no items, or of too few."""

from __future__ import annotations

import torch

LEVELS = 3
"""How many kinds of other data there are: the first one changes least."""
_MANY = 3


class SpareData:
    """What stands for tensors from outside in such a side.

    Args:
        level: 1 for items where there are none, 2 for more rows as well, 3 for longer rows instead.
        error: what the side failed with.
    """

    def __init__(self, level: int, error: Exception) -> None:
        self.level, self.error = level, error
        self.known: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        """What stands for a tensor: itself, where it has enough."""
        if id(tensor) not in self.known:
            with torch._C.DisableTorchFunction():
                self.known[id(tensor)] = tensor, self._made(tensor)
        return self.known[id(tensor)][1]

    def _made(self, tensor: torch.Tensor) -> torch.Tensor:
        if tensor.layout is not torch.strided or tensor.device.type == "meta":
            return tensor
        found = tensor
        for place, size in enumerate(tensor.shape):
            more = self.level > 1 and place == (0 if self.level == LEVELS - 1 else tensor.dim() - 1)
            if size == 0 or more:
                found = _longer(found, place, _MANY * size + 2)
        lacks = found.dtype == torch.bool and found.dim() > 0 and not bool(found.any())
        return torch.ones_like(found) if lacks else found


def _longer(tensor: torch.Tensor, place: int, size: int) -> torch.Tensor:
    """A tensor with as many items along a dimension: its own again and again, or such as are places, too."""
    if tensor.shape[place] > 0:
        return tensor.index_select(place, torch.arange(size, device=tensor.device) % tensor.shape[place])
    shape = [*tensor.shape[:place], size, *tensor.shape[place + 1 :]]
    view = [size if each == place else 1 for each in range(tensor.dim())]
    return torch.arange(size, device=tensor.device).view(view).expand(shape).to(tensor.dtype).clone()
