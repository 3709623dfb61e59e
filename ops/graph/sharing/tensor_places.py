"""Where tensors lie in memory: which are one and the same, and which share a part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..graph import Constant


def place(tensor: Any) -> Any:
    """A key that is equal for two tensors of the same memory, dtype, shape and strides."""
    return (tensor.data_ptr() or id(tensor), tensor.dtype, tuple(tensor.shape), tensor.stride(), str(tensor.device))


def beside_weights(held: Sequence[Constant]) -> list[Constant]:
    """The constants that share memory with a weight without being the same tensor: its training does not reach them.

    Args:
        held: constants; those of a file lie in its memory, where equal ones share it and none is written.
    """
    spans = sorted(((*_span(each.tensor), each) for each in held if _is_own(each)), key=lambda s: s[:3])
    found: dict[int, Constant] = {}
    for index, (device, _, end, one) in enumerate(spans):
        for other_device, start, _, other in spans[index + 1 :]:
            if other_device != device or start >= end:
                break
            if (one.parameter or other.parameter) and place(one.tensor) != place(other.tensor):
                found[id(other)] = one if other.parameter and not one.parameter else other
    return list(found.values())


def _is_own(constant: Constant) -> bool:
    tensor = constant.tensor
    return constant.origin is None and tensor.device.type != "meta" and bool(tensor.numel()) and bool(tensor.data_ptr())


def _span(tensor: Any) -> tuple[str, int, int]:
    """The device of a tensor, its first byte, and the one behind its last."""
    last = sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True))
    return str(tensor.device), tensor.data_ptr(), tensor.data_ptr() + (last + 1) * tensor.element_size()
