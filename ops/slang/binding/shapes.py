"""The sizes of the loop of a call: all sizes in front of those of the types, broadcast as in torch and SlangPy.

The same functions serve real tensors and the fake kernels, so sizes may be symbolic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ..language.dtypes import SCALARS
from ..language.errors import SlangArgumentError, SlangDtypeError, SlangShapeError
from ..language.specialization import Slot, Specialization
from ..language.types import FLOATS


def batch_of(spec: Specialization, index: int, slot: Slot, shape: Sequence[int]) -> tuple[int, ...]:
    """The sizes of one tensor in front of those of its type, over which the loop runs.

    Raises:
        SlangShapeError: the trailing sizes are not those of the type.
    """
    own = slot.type.shape
    taken = len(own) + slot.type.rank
    trailing = tuple(shape[len(shape) - len(own) :]) if own else ()
    if len(shape) < taken or trailing != own:
        sizes = ", ".join(["..."] + ["n"] * slot.type.rank + [str(size) for size in own])
        raise SlangShapeError(
            f"the tensor for {spec.slot_name(index)!r} has the wrong sizes",
            where=str(spec.function),
            got=tuple(shape),
            expected=f"({sizes}) for {slot.type.name}",
        )
    return tuple(shape[: len(shape) - taken])


def common_batch(spec: Specialization, batches: Sequence[tuple[int, tuple[int, ...]]]) -> tuple[int, ...]:
    """The sizes to which all slots broadcast.

    Args:
        spec: for the names in the error.
        batches: the index of each tensor slot with its sizes.

    Raises:
        SlangShapeError: they do not broadcast.
    """
    sizes = [batch for _, batch in batches]
    try:
        if all(type(size) is int for batch in sizes for size in batch):
            return _broadcast(sizes)
        return tuple(torch.broadcast_shapes(*sizes))  # type: ignore[no-untyped-call]  # torch leaves it untyped
    except (RuntimeError, ValueError):
        got = ", ".join(f"{spec.slot_name(index)} {tuple(batch)}" for index, batch in batches)
        raise SlangShapeError(
            "the tensors do not broadcast", where=str(spec.function), got=got, expected="equal sizes, or 1"
        ) from None


def _broadcast(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """`torch.broadcast_shapes` for plain sizes, whose first call imports sympy (0.3 s)."""
    rank = max(map(len, shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        for axis, size in enumerate(shape, rank - len(shape)):
            if size != 1 and result[axis] not in (1, size):
                raise ValueError
            result[axis] = size if size != 1 else result[axis]
    return tuple(result)


def check_dtype(spec: Specialization, index: int, slot: Slot, dtype: torch.dtype) -> None:
    """Refuses a tensor of another dtype than the Slang type has.

    Raises:
        SlangDtypeError: the dtypes differ.
    """
    if dtype != slot.type.dtype:
        raise SlangDtypeError(
            f"the tensor for {spec.slot_name(index)!r} has the wrong dtype",
            where=str(spec.function),
            got=f"{dtype} ({SCALARS.get(dtype, 'no Slang type')})",
            expected=f"{slot.type.dtype} ({slot.type.scalar})",
            fix=f"Convert it with .to({slot.type.dtype}).",
        )


def check_strided(spec: Specialization, arguments: Sequence[Any]) -> None:
    """Refuses a tensor whose elements do not lie at fixed steps.

    Raises:
        SlangArgumentError: it is sparse or nested.
    """
    for index, (slot, argument) in enumerate(zip(spec.slots, arguments, strict=True)):
        if slot.is_value or (argument.layout == torch.strided and not argument.is_nested):
            continue
        raise SlangArgumentError(
            f"the tensor for {spec.slot_name(index)!r} is not strided",
            where=str(spec.function),
            got="a nested tensor" if argument.is_nested else argument.layout,
            expected=torch.strided,
            fix=f"Convert it with {'.to_padded_tensor(0)' if argument.is_nested else '.to_dense()'}.",
        )


def batches_of(spec: Specialization, arguments: Sequence[Any]) -> tuple[tuple[int, ...], dict[int, tuple[int, ...]]]:
    """The sizes of the loop, and those of each tensor slot before broadcasting.

    Args:
        spec: the specialization that is called.
        arguments: one number or tensor for each slot.

    Raises:
        SlangDtypeError: a tensor has another dtype than its Slang type.
        SlangShapeError: sizes do not fit a type, or do not broadcast.
    """
    batches: dict[int, tuple[int, ...]] = {}
    for index, (slot, argument) in enumerate(zip(spec.slots, arguments, strict=True)):
        if not slot.is_value:
            check_dtype(spec, index, slot, argument.dtype)
            batches[index] = batch_of(spec, index, slot, argument.shape)
    batch = common_batch(spec, list(batches.items()))
    for index, own in batches.items():
        if "w" in spec.slots[index].type.access and own:
            _check_written(spec, index, batch, batches)
    return batch, batches


def _check_written(
    spec: Specialization, index: int, batch: tuple[int, ...], batches: Mapping[int, tuple[int, ...]]
) -> None:
    """Checks that no two calls write one element: a written tensor may be broadcast along an axis of an index only."""
    told = [_aligned(own, batch) for i, own in batches.items() if _is_index(spec.slots[i])]
    own = _aligned(batches[index], batch)
    for axis, size in enumerate(batch):
        if own[axis] != size and not any(each[axis] == size for each in told):
            raise SlangShapeError(
                f"several calls would write the same element of {spec.slot_name(index)!r}",
                where=str(spec.function),
                got=batches[index],
                expected=f"{batch}, or an index that differs along axis {axis}",
            )


def _is_index(slot: Slot) -> bool:
    return not slot.is_view and slot.type.scalar not in FLOATS and slot.type.scalar != "bool"


def _aligned(own: tuple[int, ...], batch: tuple[int, ...]) -> tuple[int, ...]:
    return (1,) * (len(batch) - len(own)) + own


def output_shapes(spec: Specialization, batch: tuple[int, ...], arguments: Sequence[Any]) -> list[tuple[int, ...]]:
    """The sizes of each output."""
    return [
        tuple(arguments[output.slot].shape) if output.type.kind == "view" else (*batch, *output.type.shape)
        for output in spec.outputs
    ]
