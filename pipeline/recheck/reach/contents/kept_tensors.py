"""Tensors that a call has made and that the function keeps: later calls may write to them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from ..places import Location

MOST_BYTES = 1 << 20  # of one that is looked at
NEW = "a tensor that a call has made"


class KeptTensors:
    """Some tensors, each with a copy of what it held.

    Those that were there before the first call are the business of a recording, which knows who writes to them.
    """

    def __init__(self, tensors: Iterable[torch.Tensor]) -> None:
        self._all = [(tensor, tensor._version, _place(tensor)) for tensor in tensors if _is_plain(tensor)]

    def state(self) -> list[tuple[Location, Any, Any]]:
        """Those that were written to, each with the key of all that is in it and the number of writes."""
        return [(place, ..., tensor._version) for tensor, version, place in self._all if tensor._version != version]

    def restore(self) -> bool:
        """Gives back to each what it held; returns whether one was written to."""
        written = self.state()
        for place, _, _ in written:
            place.write(place.before)
        return bool(written)


def _is_plain(tensor: torch.Tensor) -> bool:
    plain = tensor.layout is torch.strided and tensor.device.type == "cpu" and not tensor.is_inference()
    return plain and tensor.nbytes <= MOST_BYTES


def _place(tensor: torch.Tensor) -> Location:
    def write(items: dict[Any, Any]) -> None:
        with torch.no_grad():
            tensor.copy_(items[...])

    return Location(NEW, lambda: {...: tensor}, write, {...: tensor.detach().clone()}, tensor)
