"""Other examples for a second recording: the same values in another order and number, so that they stay valid.

Token ids stay in range, masks stay masks; only the first dimension, where batches are, changes its size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch


def clones(leaves: Sequence[Any]) -> list[Any]:
    """Copies of tensors that keep their strides, and share memory among themselves as the originals do."""
    storages: dict[int, torch.Tensor] = {}
    return [_clone(leaf, storages) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]


def _clone(tensor: torch.Tensor, storages: dict[int, torch.Tensor]) -> torch.Tensor:
    tensor = tensor.detach()
    if tensor.device.type == "meta" or tensor.layout is not torch.strided:
        return tensor.clone()
    storage = tensor.untyped_storage()
    if storage.nbytes() > 4 * max(1, tensor.nbytes):  # a small view of something large
        return tensor.clone()
    key = storage.data_ptr() or id(storage)
    if key not in storages:
        whole = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(storage)
        storages[key] = whole.clone()
    base = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
    out = base.set_(storages[key].untyped_storage(), tensor.storage_offset(), tensor.size(), tensor.stride())
    return out.conj() if tensor.is_conj() else out


def varied(leaves: Sequence[Any]) -> Iterator[list[Any]]:
    """Examples to record again with: one more row in the batch, then the same sizes, then the same data."""
    batch = next((size for leaf in leaves if (size := _batch(leaf)) is not None), None)
    if batch is not None and batch > 0:
        yield [_rows(leaf, batch, batch + 1) for leaf in leaves]
        yield [_rows(leaf, batch, batch) for leaf in leaves]
    elif batch is None:
        yield [_rows(leaf, -1, -1) for leaf in leaves]
    yield list(leaves)


def _batch(leaf: Any) -> int | None:
    """How many rows an example has: a tensor's first size, or a number of strings."""
    if isinstance(leaf, torch.Tensor):
        return leaf.size(0) if leaf.dim() else None
    return len(leaf) if isinstance(leaf, list) else None


def _rows(leaf: Any, batch: int, wanted: int) -> Any:
    """The rows of a tensor in another order, the first ones repeated where more are wanted, and other numbers."""
    if isinstance(leaf, list) and len(leaf) == batch:
        rows = [leaf[(row + 1) % batch] for row in range(wanted)]
        return [*rows[:-1], f"{rows[-1]} {rows[0]}"] if wanted > batch else rows  # longer, too
    if not isinstance(leaf, torch.Tensor):
        return leaf
    if leaf.dim() == 0 or leaf.size(0) != batch:
        return _scaled(leaf.detach())
    order = (torch.arange(wanted, device=leaf.device) + 1) % batch
    return _scaled(leaf.detach().index_select(0, order))


def _scaled(leaf: torch.Tensor) -> torch.Tensor:
    """Floating-point data a little smaller: still positive, still a matrix of the same kind, but other numbers."""
    return leaf * 0.875 if leaf.is_floating_point() and leaf.dtype.itemsize > 1 else leaf


def shifted(leaves: Sequence[Any]) -> list[Any] | None:
    """Examples with every whole number one more and every mask inverted; None where there are none of these."""
    whole = [
        isinstance(leaf, torch.Tensor) and not leaf.is_floating_point() and not leaf.is_complex() for leaf in leaves
    ]
    if not any(whole):
        return None
    return [_shift(leaf.detach()) if is_whole else leaf for leaf, is_whole in zip(leaves, whole, strict=True)]


def _shift(leaf: torch.Tensor) -> torch.Tensor:
    return ~leaf if leaf.dtype is torch.bool else leaf + 1
