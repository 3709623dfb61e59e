"""The pieces of a tensor as a list of any length: what `unbind`, `split` and `chunk` give to a loop.

Elsewhere they are operators of torch, whose number of results the recording fixes.
"""

from __future__ import annotations

from typing import Any

import torch

from ...ops.graph.graph import Operator
from ..proxies.base import is_traced
from ..proxies.trees import concrete
from ..recording.recorder import Recorder
from .mapping import each, rows_of

NAMES = ("unbind", "split", "chunk")
_COUNTS = ("split_size", "split_size_or_sections", "chunks")  # what torch calls the size or the number of pieces


class Pieces:
    """Stands for a tensor, or for torch, one function of which gives pieces of a tensor to a loop.

    Args:
        recorder: the recording.
        thing: the tensor, or torch.
    """

    def __init__(self, recorder: Recorder, thing: Any) -> None:
        self.recorder, self.thing = recorder, thing

    def __getattr__(self, name: str) -> Any:
        plain = getattr(self.thing, name)
        given = () if self.thing is torch else (self.thing,)

        def call(*args: Any, **options: Any) -> Any:
            found = _pieces(self.recorder, name, (*given, *args), options)
            return plain(*args, **options) if found is None else found

        return call


def _pieces(recorder: Recorder, name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The pieces, or None for a call that torch has to take."""
    wanted = name != "unbind"
    if not args or not isinstance(args[0], torch.Tensor) or args[0] not in recorder.values:
        return None
    if options.keys() - {"dim", *_COUNTS[: wanted * len(_COUNTS)]}:
        return None
    tensor, rest = args[0], args[1:]
    many = [*rest[:wanted], *(options[each] for each in _COUNTS if each in options)]
    dims = [*rest[wanted:], *(options[each] for each in ("dim",) if each in options)] or [0]
    rank = recorder.rank(tensor)
    if len(many) != wanted or len(dims) != 1 or type(dims[0]) is not int or not -rank <= dims[0] < rank:
        return None
    dim = dims[0] % rank
    if not wanted:
        return rows_of(recorder, tensor if dim == 0 else torch.movedim(tensor, dim, 0))
    if not _cuts(recorder, many[0]):
        return None
    return (_split if name == "split" else _chunks)(recorder, tensor, dim, many[0])


def _cuts(recorder: Recorder, count: Any) -> bool:
    """Whether it is a number that gives pieces: a condition of the signature where an argument decides it."""
    if not is_traced(count):
        return type(count) is int and count > 0
    if type(concrete(count)) is not int or count.varies:
        return False
    return bool(recorder.pin(recorder.scalar("gt", count, 0), "a tensor is cut by it"))


def _split(recorder: Recorder, tensor: torch.Tensor, dim: int, size: Any) -> Any:
    """Pieces of one size: one at least, as torch does."""
    rows = recorder.scalar("max", recorder.scalar("size", tensor, dim), 1)
    return _cut(recorder, tensor, dim, size, _divided(recorder, rows, size))


def _chunks(recorder: Recorder, tensor: torch.Tensor, dim: int, count: Any) -> Any:
    """At most so many pieces; of no rows exactly so many, as torch does."""
    rows = recorder.scalar("size", tensor, dim)
    size = recorder.scalar("max", _divided(recorder, rows, count), 1)
    empty = recorder.scalar("int", recorder.scalar("eq", rows, 0))
    pieces = recorder.scalar("add", _divided(recorder, rows, size), recorder.scalar("mul", count, empty))
    return _cut(recorder, tensor, dim, size, pieces)


def _divided(recorder: Recorder, number: Any, by: Any) -> Any:
    """The quotient, rounded up."""
    return recorder.scalar("floordiv", recorder.scalar("sub", recorder.scalar("add", number, by), 1), by)


def _cut(recorder: Recorder, tensor: torch.Tensor, dim: int, size: Any, count: Any) -> Any:
    """So many pieces of a size; the last one is what is left."""
    with torch._C.DisableTorchFunction():
        numbers = recorder.apply(Operator("torch.arange"), torch.arange, (0, count), {})
    places = recorder.scalar("tolist", numbers)
    places.sized_by = lambda: count
    before = (slice(None),) * dim

    def piece(place: Any) -> Any:
        return tensor[(*before, slice(place * size, (place + 1) * size))]

    return each(recorder, piece, places)
