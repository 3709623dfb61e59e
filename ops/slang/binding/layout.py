"""The layout of a call: which of its tensors advance with the loop, and which are broadcast.

All tensors are contiguous, so one that is broadcast advances by its own contiguous steps along some axes and stays
along the others. Axes along which every tensor does the same are taken together; what remains are the axes of the
*table*, which a kernel reads to find where a row of the loop starts in each such tensor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from ..language.errors import SlangShapeError
from ..language.specialization import Specialization
from .shapes import batches_of

_LARGEST_VIEW = 1 << 31
"""SlangPy's tensors index with 32 bits."""


@dataclass(frozen=True)
class Layout:
    """The sizes of a call as a kernel needs them.

    Attributes:
        batch: the sizes of the loop.
        modes: for each slot `v`, `c`, `f`, `r` or `b`, see `codegen.Variant`.
        rank: the number of axes by which the kernel finds its rows; 0 where nothing is broadcast along some axes only.
        table: the sizes of the views, then the axes, then for each slot of mode `r` or `b` its steps along all axes
            but the last.
    """

    batch: tuple[int, ...]
    modes: str
    rank: int
    table: tuple[int, ...]


def layout_of(spec: Specialization, arguments: Sequence[Any]) -> Layout:
    """The layout of a call.

    Args:
        spec: the specialization that is called.
        arguments: one number or tensor for each slot.

    Raises:
        SlangDtypeError: a tensor has another dtype than its Slang type.
        SlangShapeError: sizes do not fit a type, do not broadcast, or are too large.
    """
    batch, batches = batches_of(spec, arguments)
    single = {index for index in batches if _is_single(spec, index, batches[index], prod(batch))}
    partial = [index for index, own in batches.items() if index not in single and prod(own) != prod(batch)]
    sizes = [size for index in batches for size in _view_sizes(spec, index, arguments[index].shape)]
    axes, steps = _rows(batch, {index: batches[index] for index in partial})
    modes = "".join(
        "v" if index not in batches else "c" if index in single else _mode(steps.get(index))
        for index in range(len(spec.slots))
    )
    table = [*sizes, *axes, *(step for index in partial for step in steps[index][:-1])]
    return Layout(batch, modes, len(axes), tuple(table))


def _is_single(spec: Specialization, index: int, own: tuple[int, ...], total: int) -> bool:
    """Whether all calls read one element, which is then read before the loop."""
    return prod(own) == 1 and (total != 1 or spec.slots[index].is_view or not own)


def _mode(steps: Sequence[int] | None) -> str:
    return "f" if steps is None else "r" if steps[-1] else "b"


def _rows(batch: tuple[int, ...], partial: Mapping[int, tuple[int, ...]]) -> tuple[list[int], dict[int, list[int]]]:
    """The axes after merging those along which all tensors move in the same way, and the steps of the tensors."""
    steps = {index: _steps(own, len(batch)) for index, own in partial.items()}
    axes: list[int] = []
    kept: dict[int, list[int]] = {index: [] for index in partial}
    if not partial:
        return axes, kept
    for axis in (axis for axis, size in enumerate(batch) if size != 1):
        size = batch[axis]
        if axes and all(kept[index][-1] == size * steps[index][axis] for index in partial):
            axes[-1] *= size
        else:
            axes.append(size)
            for index in partial:
                kept[index].append(0)
        for index in partial:
            kept[index][-1] = steps[index][axis]
    return axes, kept


def _steps(own: tuple[int, ...], rank: int) -> list[int]:
    """How far a contiguous tensor advances along each axis of the loop."""
    steps, step = [], 1
    for size in reversed(own):
        steps.append(step if size != 1 else 0)
        step *= size
    return [0] * (rank - len(own)) + steps[::-1]


def _view_sizes(spec: Specialization, index: int, shape: Sequence[int]) -> list[int]:
    """The sizes of the tensor that a function gets as a view; none for other slots."""
    slot = spec.slots[index]
    if not slot.is_view:
        return []
    own = len(slot.type.shape)
    sizes = list(shape[len(shape) - own - slot.type.rank : len(shape) - own])
    if prod(sizes) >= _LARGEST_VIEW:
        raise SlangShapeError(
            f"the tensor for {spec.slot_name(index)!r} is too large to be passed whole",
            where=str(spec.function),
            got=tuple(sizes),
            expected="less than 2**31 elements",
        )
    return sizes


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a contiguous tensor of some sizes."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))
