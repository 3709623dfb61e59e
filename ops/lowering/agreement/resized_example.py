"""The example of a model at other sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from ...graph.graph import Body
from ...graph.types import TensorType
from ..call import Leaves


def sized(body: Body, sizes: Mapping[str, int], tensors: Leaves) -> list[Any]:
    """The example with smaller sizes of some symbols of a body."""
    small = list(tensors)
    for name, size in sizes.items():
        small = [_resized(t, v.type, name, size) for t, v in zip(small, body.graph.inputs, strict=True)]
        index = body.facts.symbols[name][0]
        small[index] = small[index] if isinstance(small[index], torch.Tensor) else size
    return small


def _resized(tensor: Any, kind: Any, symbol: str, size: int) -> Any:
    if not isinstance(kind, TensorType):
        return tensor
    for dim, name in enumerate(kind.shape):
        if name == symbol and tensor.size(dim) >= size:
            tensor = tensor.narrow(dim, 0, size)
    return tensor.contiguous()
