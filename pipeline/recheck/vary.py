"""Other examples: for a second recording, and for the replays that hold a recording against the function.

For a recording the same values come in another order and number, so that they stay valid: token ids stay in range,
masks stay masks; only the first dimension, that of the batch, changes its size. Replays also use invalid values, since
a function may refuse them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import torch

from ...ops.lowering.call import copied
from ...ops.lowering.layouts import channels_last
from .reach.named_values import with_named_sizes, with_named_values


def clones(leaves: Sequence[Any]) -> list[Any]:
    """Copies of tensors that keep their strides, and share memory among themselves as the originals do."""
    storages: dict[int, torch.Tensor] = {}
    return [_mapped(lambda tensor: _clone(tensor, storages), leaf) for leaf in leaves]


def _mapped(change: Callable[[torch.Tensor], Any], leaf: Any) -> Any:
    """A leaf with a function applied to its tensors: itself, or those in a list of any length."""
    if isinstance(leaf, torch.Tensor):
        return change(leaf)
    if type(leaf) in (list, tuple):
        return type(leaf)(_mapped(change, item) for item in leaf)
    return {key: _mapped(change, item) for key, item in leaf.items()} if type(leaf) is dict else leaf


def _filled(fill: int, tensor: torch.Tensor) -> torch.Tensor:
    return torch.full_like(tensor.detach(), fill)


def _tensors(leaf: Any) -> list[torch.Tensor]:
    """The tensors of a leaf: itself, or those in a list of any length."""
    found: list[torch.Tensor] = []
    _mapped(found.append, leaf)
    return found


def _clone(tensor: torch.Tensor, storages: dict[int, torch.Tensor]) -> torch.Tensor:
    tensor = tensor.detach()
    if tensor.device.type == "meta" or tensor.layout is not torch.strided:
        return tensor.clone()
    storage = tensor.untyped_storage()
    if storage.nbytes() > 4 * max(1, tensor.nbytes):  # the tensor is a small view of a large storage
        return copied(tensor)
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


def trials(leaves: Sequence[Any], known: Iterable[Any] = ()) -> Iterator[list[Any]]:
    """Examples for replays: other data, sizes, layouts and numbers, those that find most first.

    Args:
        leaves: the example.
        known: numbers and texts that the function's code names: one that it compares with decides what it does.
    """
    tensors = [tensor for leaf in leaves for tensor in _tensors(leaf) if tensor.device.type != "meta"]
    sizes = list(dict.fromkeys(size for tensor in tensors for size in tensor.shape))
    yield [_other(leaf) for leaf in leaves]
    if sizes:
        yield [_resized(leaf, {size: 2 * size + 1 for size in sizes[:1]}) for leaf in leaves]
    if any(type(leaf) in _NUMBERS for leaf in leaves):
        yield [_number(leaf, True) for leaf in leaves]
        yield [_number(leaf, False) for leaf in leaves]
        flags = [index for index, leaf in enumerate(leaves) if type(leaf) is bool]
        for flag in flags[:4] if len(flags) > 1 else ():
            yield [not leaf if index == flag else leaf for index, leaf in enumerate(leaves)]
    yield from _met(leaves, known)
    yield from with_named_values(leaves, known)
    yield from with_named_sizes(leaves, known)
    for fill in (0, 1) if tensors else ():
        yield [_mapped(partial(_filled, fill), leaf) for leaf in leaves]
    if tensors:
        yield [_mapped(partial(_far, beyond=_beyond(known)), leaf) for leaf in leaves]
    yield from layouts(leaves)
    if sizes:
        yield [_resized(leaf, {size: size + 2 for size in sizes}) for leaf in leaves]
        for size in sizes[1:4]:
            yield [_resized(leaf, {size: size + 1}) for leaf in leaves]
        yield from _one_resized(leaves)
        yield [_resized(leaf, dict.fromkeys(sizes[:1], 1)) for leaf in leaves]
        yield [_resized(leaf, dict.fromkeys(sizes[:1], 0)) for leaf in leaves]
    if any(isinstance(leaf, list) for leaf in leaves):
        far = partial(_scattered, beyond=_beyond(known))
        changes = (lambda items: [*items, *items], lambda items: items[1:], lambda items: items[:0], _raised, far)
        for change in (*changes, lambda items: far(items * 3)):
            yield [change(leaf) if isinstance(leaf, list) else leaf for leaf in leaves]
    if any(isinstance(leaf, str | list) for leaf in leaves):
        for write in (lambda text: text + text[:1], lambda text: f"{text} {text}", str.swapcase, lambda text: ""):
            yield [_rewritten(leaf, write) for leaf in leaves]


def layouts(leaves: Sequence[Any]) -> Iterator[list[Any]]:
    """The example in other layouts of memory."""
    dims = {tensor.dim() for leaf in leaves for tensor in _tensors(leaf) if tensor.device.type != "meta"}
    for change in [_transposed, _spread] * any(dims) + [_channels_last] * bool(dims & {4, 5}):
        yield [_mapped(change, leaf) for leaf in leaves]


def beside(leaves: Sequence[Any]) -> Iterator[list[Any]]:
    """Examples for another implementation of the same function: other sizes, layouts and data, and no new values."""
    tensors = [tensor for leaf in leaves for tensor in _tensors(leaf) if tensor.device.type != "meta"]
    sizes = list(dict.fromkeys(size for tensor in tensors for size in tensor.shape))
    if sizes:
        yield [_resized(leaf, {size: size + 2 + place for place, size in enumerate(sizes)}) for leaf in leaves]
        for size in sizes[:4]:
            yield [_resized(leaf, {size: 2 * size + 1}) for leaf in leaves]
        yield [_resized(leaf, dict.fromkeys(sizes[:1], 1)) for leaf in leaves]
        yield [_resized(leaf, {size: size + 1 for size in sizes}) for leaf in leaves]
    yield [_other(leaf) for leaf in leaves]
    yield from layouts(leaves)
    if sizes:
        for size in sizes[:3]:
            yield [_resized(leaf, {size: size + 1}) for leaf in leaves]
        yield [_resized(leaf, dict.fromkeys(sizes[:1], 0)) for leaf in leaves]
    if any(isinstance(leaf, list) for leaf in leaves):
        for change in (lambda items: [*items, *items], lambda items: items[1:]):
            yield [change(leaf) if isinstance(leaf, list) else leaf for leaf in leaves]
    if any(isinstance(leaf, str | list) for leaf in leaves):
        yield [_rewritten(leaf, lambda text: f"{text} {text}") for leaf in leaves]


def _one_resized(leaves: Sequence[Any]) -> Iterator[list[Any]]:
    """Examples in which one input alone has another first size, which is that of an earlier input, too."""
    firsts = [leaf.shape[0] if isinstance(leaf, torch.Tensor) and leaf.dim() else 0 for leaf in leaves]
    alike = [index for index, size in enumerate(firsts) if size and size in firsts[:index]]
    for index in alike[:3]:
        rows = {0: firsts[index] + 2}  # and no other size, which may be as large by chance
        yield [with_sizes(leaf, rows) if number == index else leaf for number, leaf in enumerate(leaves)]


def _beyond(known: Iterable[Any]) -> float:
    """A number that is larger than all that a function names."""
    sizes = [abs(value) for value in known if type(value) in (int, float) and abs(value) < 1e4]
    return 2.0 * max(sizes, default=0) + 10


def _far(tensor: torch.Tensor, beyond: float) -> torch.Tensor:
    """Elements that lie beyond all numbers that the function names, above and below in turn."""
    whole = not tensor.is_floating_point()
    found = torch.full_like(
        tensor.detach(), min(beyond, 100) if whole else beyond, memory_format=torch.contiguous_format
    )
    if not whole:
        found.view(-1)[1::2] = -beyond
    return found


MOST_MET = 12
_LARGEST_SIZE = 1000


def _met(leaves: Sequence[Any], known: Iterable[Any]) -> Iterator[list[Any]]:
    """Examples in which one number or text is another one that the function knows, a 0 or a NaN."""
    found = [0, 0.0, math.nan, *known]
    pairs = [(index, value) for index, leaf in enumerate(leaves) for value in found if type(value) is type(leaf)]
    unlike = [(index, value) for index, value in pairs if _fits(value, leaves[index])]
    for index, value in unlike[:MOST_MET]:
        yield [*leaves[:index], value, *leaves[index + 1 :]]


def _fits(value: Any, leaf: Any) -> bool:
    """Whether a value is another one than the example, and a number no larger than what a size may be."""
    return repr(value) != repr(leaf) and (type(value) is not int or abs(value) <= max(_LARGEST_SIZE, abs(leaf)))


def _rewritten(leaf: Any, write: Callable[[str], str]) -> Any:
    """A text, or each text of a list, as a function changes it."""
    if isinstance(leaf, list):
        return [write(item) if isinstance(item, str) else item for item in leaf]
    return write(leaf) if isinstance(leaf, str) else leaf


def ones(leaves: Sequence[Any]) -> list[Any]:
    """Examples of the same shapes, filled with ones."""
    return [_mapped(lambda tensor: torch.ones_like(tensor.detach()), leaf) for leaf in leaves]


_NUMBERS = (int, float, complex, bool)


def _number(leaf: Any, more: bool) -> Any:
    """Another number of the same type; a bool inverted."""
    if type(leaf) is bool:
        return not leaf if more else leaf
    if type(leaf) is int:
        return leaf + 1 if more else max(leaf - 1, 0) if leaf > 0 else -leaf - 1
    return leaf * 1.5 + 0.25 if more and type(leaf) in _NUMBERS else -leaf if type(leaf) in _NUMBERS else leaf


def _raised(items: list[Any]) -> list[Any]:
    """The numbers of a list a little larger, which places in another list may still be."""
    return [_number(item, True) for item in items]


def _scattered(items: list[Any], beyond: float) -> list[Any]:
    """Numbers of a list that lie beyond all that the function names, above and below in turn; no two are alike."""
    far = [(beyond + place) * (-1) ** place for place in range(len(items))]
    return [type(item)(to) if type(item) in (int, float) else item for item, to in zip(items, far, strict=True)]


def _other(leaf: Any) -> Any:
    """The same elements in another order, with the other sign: indices and lengths stay valid as far as can be."""
    if isinstance(leaf, list) and leaf and not isinstance(leaf[0], str):
        return _mapped(_other, leaf[::-1])
    if not isinstance(leaf, torch.Tensor) or leaf.device.type == "meta":
        return leaf
    turned = leaf.detach().clone()
    for dim, size in enumerate(leaf.shape):
        turned = _taken(turned, dim, torch.arange(size - 1, -1, -1, device=leaf.device))
    if leaf.is_floating_point() and leaf.dtype.itemsize > 1:
        return turned * -1.25
    return ~turned if leaf.dtype is torch.bool else turned


def _resized(leaf: Any, sizes: dict[int, int]) -> Any:
    """A tensor or a list of strings with new sizes: the table maps old to new ones; elements are repeated."""
    if isinstance(leaf, list) and leaf and not isinstance(leaf[0], str):
        return _mapped(lambda tensor: _resized(tensor, sizes), leaf)
    if isinstance(leaf, list) and len(leaf) in sizes:
        return [leaf[index % len(leaf)] for index in range(sizes[len(leaf)])] if leaf else leaf
    if not isinstance(leaf, torch.Tensor) or leaf.device.type == "meta":
        return leaf
    return with_sizes(leaf, {dim: sizes[size] for dim, size in enumerate(leaf.shape) if size in sizes and size})


def with_sizes(leaf: torch.Tensor, sizes: dict[int, int]) -> torch.Tensor:
    """A tensor with new sizes of some of its dimensions; elements are repeated."""
    found = leaf.detach()
    for dim, size in sizes.items():
        found = _taken(found, dim, torch.arange(size, device=leaf.device) % leaf.shape[dim])
    return found


def _taken(tensor: torch.Tensor, dim: int, index: torch.Tensor) -> torch.Tensor:
    """`index_select`, also for dtypes on which torch has no operators."""
    held = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}.get(tensor.dtype)
    held = torch.uint8 if held is None and tensor.dtype.itemsize == 1 and tensor.is_floating_point() else held
    if held is None:
        return tensor.index_select(dim, index)
    return tensor.contiguous().view(held).index_select(dim, index).view(tensor.dtype)


def _transposed(leaf: Any) -> Any:
    """The same values in transposed memory."""
    if not isinstance(leaf, torch.Tensor) or leaf.dim() < 2 or leaf.device.type == "meta":
        return leaf
    order = list(reversed(range(leaf.dim())))
    return leaf.detach().permute(order).contiguous().permute(order)


def _spread(leaf: Any) -> Any:
    """The same values with gaps between them in memory."""
    if not isinstance(leaf, torch.Tensor) or not leaf.dim() or leaf.device.type == "meta":
        return leaf
    return torch.stack([leaf.detach(), leaf.detach()], -1)[..., 0]


def _channels_last(leaf: torch.Tensor) -> torch.Tensor:
    """The same values with the channels innermost in memory."""
    return channels_last(leaf.detach()) if leaf.dim() in (4, 5) and leaf.device.type != "meta" else leaf


def _rows(leaf: Any, batch: int, wanted: int) -> Any:
    """The rows of a tensor in another order, with other numbers; the first rows are repeated to fill more rows."""
    if isinstance(leaf, list) and len(leaf) == batch:
        rows = [leaf[(row + 1) % batch] for row in range(wanted)]
        if not isinstance(leaf[0], str):
            return _mapped(_scaled, rows)
        return [*rows[:-1], f"{rows[-1]} {rows[0]}"] if wanted > batch else rows  # longer, too
    if not isinstance(leaf, torch.Tensor):
        return leaf
    if leaf.dim() == 0 or leaf.size(0) != batch:
        return _scaled(leaf.detach())
    order = (torch.arange(wanted, device=leaf.device) + 1) % batch
    return _scaled(_taken(leaf.detach(), 0, order))


def _scaled(leaf: torch.Tensor) -> torch.Tensor:
    """Floating-point data a little smaller, so that positive stays positive, and definite matrices stay definite."""
    return leaf * 0.875 if leaf.is_floating_point() and leaf.dtype.itemsize > 1 else leaf


def shifted(leaves: Sequence[Any]) -> list[Any] | None:
    """Examples with 1 added to every integer and every mask inverted; None where they hold neither."""
    whole = [
        isinstance(leaf, torch.Tensor) and not leaf.is_floating_point() and not leaf.is_complex() for leaf in leaves
    ]
    if not any(whole):
        return None
    return [_shift(leaf.detach()) if is_whole else leaf for leaf, is_whole in zip(leaves, whole, strict=True)]


def _shift(leaf: torch.Tensor) -> torch.Tensor:
    if leaf.dtype in (torch.uint16, torch.uint32, torch.uint64):  # torch has no arithmetic for this dtype
        return leaf
    return ~leaf if leaf.dtype is torch.bool else leaf + 1
