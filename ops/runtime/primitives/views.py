"""`as_strided` and its variants, limited to the memory of their tensor.

torch limits them to the storage, which can hold more than the tensor: other weights of a mapped file, other rows of the
caller's batch. A file that is not trusted must not read those. Nor may a caller write to weights, of which results may
be views: `apart`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy
import torch

from ...graph.errors import OutsideError

_is_alias_of: Any = vars(torch._C)["_is_alias_of"]  # torch leaves it out of its types


def as_strided(
    self: torch.Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> torch.Tensor:
    """`torch.as_strided` inside the tensor.

    Raises:
        OutsideError: the view would reach memory outside of it.
    """
    _require_inside(self, size, stride, storage_offset)
    return torch.as_strided(self, size, stride, storage_offset)


def as_strided_copy(
    self: torch.Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> torch.Tensor:
    """`torch.as_strided_copy` inside the tensor.

    Raises:
        OutsideError: the view would reach memory outside of it.
    """
    _require_inside(self, size, stride, storage_offset)
    return torch.as_strided_copy(self, size, stride, storage_offset)


def as_strided_scatter(
    self: torch.Tensor,
    src: torch.Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> torch.Tensor:
    """`torch.as_strided_scatter` inside the tensor.

    Raises:
        OutsideError: the view would reach memory outside of it.
    """
    _require_inside(self, size, stride, storage_offset)
    return torch.as_strided_scatter(self, src, size, stride, storage_offset)


def as_strided_(
    self: torch.Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> torch.Tensor:
    """`torch.as_strided_` inside the tensor as it was.

    Raises:
        OutsideError: the view would reach memory outside of it.
    """
    _require_inside(self, size, stride, storage_offset)
    return torch.as_strided_(self, size, stride, storage_offset)


def strided_copy(self: torch.Tensor) -> torch.Tensor:
    """`copy.deepcopy` of a tensor: the same elements with the same strides, and zeros in what lies between them.

    Raises:
        OutsideError: it is not dense, or its memory would be far larger than the tensor.
    """
    if self.layout is not torch.strided:
        raise OutsideError("deepcopy takes a dense tensor", got=str(self.layout))
    first, last = _span(self.shape, self.stride(), 0)
    if last - first > max(self.numel(), 1) * _MOST_GAPS:
        return self.clone()
    made = torch.zeros(last - first + 1, dtype=self.dtype, device=self.device)
    view = torch.as_strided(made, self.shape, self.stride())
    once = tuple(slice(None) if step else slice(1) for step in self.stride())  # each element of an expanded one
    view[once].copy_(self[once])
    return view


_MOST_GAPS = 64
"""How much larger the memory may be that a copy with the same strides takes."""

CHECKED: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("torch.as_strided", "torch.Tensor.as_strided", "aten.as_strided.default"), as_strided),
    **dict.fromkeys(("torch.as_strided_", "torch.Tensor.as_strided_", "aten.as_strided_.default"), as_strided_),
    **dict.fromkeys(("torch.as_strided_copy", "aten.as_strided_copy.default"), as_strided_copy),
    **dict.fromkeys(
        ("torch.as_strided_scatter", "torch.Tensor.as_strided_scatter", "aten.as_strided_scatter.default"),
        as_strided_scatter,
    ),
}
"""The name of an operator that torch checks too little -> the checked function in its place."""


def _require_inside(tensor: torch.Tensor, size: Sequence[int], stride: Sequence[int], offset: int | None) -> None:
    """Checks that a view lies inside of its tensor; sizes and strides that torch refuses are left to torch."""
    begin = int(tensor.storage_offset())
    first, last = _span(size, stride, begin if offset is None else offset)
    least, most = _span(tensor.shape, tensor.stride(), begin)
    if first <= last and (first < least or last > most):
        raise OutsideError(
            "as_strided reaches outside of its tensor",
            got=f"elements {first} to {last} of the memory",
            expected=f"elements {least} to {most}, where the tensor lies" if least <= most else "none: it is empty",
            fix="Call it on the tensor that holds all of them.",
        )


def _span(size: Sequence[int], stride: Sequence[int], offset: int) -> tuple[int, int]:
    """The offsets of the first and the last element of a view; of an empty one the last is before the first."""
    if 0 in size:
        return offset, offset - 1
    return offset, offset + sum((n - 1) * step for n, step in zip(size, stride, strict=False))


def apart(result: Any, *given: Any) -> Any:
    """A result in memory of its own, with the same strides; as it is where it is a view of something given."""
    if isinstance(result, list | tuple) and type(result) in (list, tuple):
        return type(result)([apart(item, *given) for item in result])
    if type(result) is dict:
        return {key: apart(item, *given) for key, item in result.items()}
    if isinstance(result, numpy.ndarray) and not given:
        memory = result.copy(order="K")
        return memory if memory.strides == result.strides and result.flags.writeable else result
    if not isinstance(result, torch.Tensor) or result.layout is not torch.strided:
        return result
    if any(isinstance(each, torch.Tensor) and _is_alias_of(result, each) for each in given):
        return result
    copied = result.clone()
    if copied.stride() == result.stride() or result.numel() == 0:
        return copied
    reach = 1 + sum((size - 1) * step for size, step in zip(result.shape, result.stride(), strict=True))
    return result.as_strided((reach,), (1,)).clone().as_strided(result.shape, result.stride(), 0)
