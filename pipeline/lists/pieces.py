"""The pieces of a tensor as a list of any length: what `unbind`, `split` and `chunk` give to a loop.

Elsewhere they are operators of torch, whose number of results the recording fixes.
"""

from __future__ import annotations

from typing import Any

import torch

from ...ops.graph.graph import Operator
from ..recording.recorder import Recorder
from .mapping import each, rows_of

NAMES = ("unbind", "split", "chunk")


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
    if not args or not isinstance(args[0], torch.Tensor) or args[0] not in recorder.values or options.keys() - {"dim"}:
        return None
    tensor, rest = args[0], args[1:]
    wanted = name != "unbind"
    many, dims = rest[:wanted], [*rest[wanted:], *options.values()] or [0]
    rank = recorder.rank(tensor)
    if len(many) != wanted or len(dims) != 1 or type(dims[0]) is not int or not -rank <= dims[0] < rank:
        return None
    dim = dims[0] % rank
    if not wanted:
        return rows_of(recorder, tensor if dim == 0 else torch.movedim(tensor, dim, 0))
    count = many[0]
    if type(count) is not int or count < 1:
        return None
    return _split(recorder, tensor, dim, count) if name == "split" else _chunks(recorder, tensor, dim, count)


def _split(recorder: Recorder, tensor: torch.Tensor, dim: int, size: int) -> Any:
    """Pieces of one size: one at least, as torch does."""
    rows = recorder.scalar("max", recorder.scalar("size", tensor, dim), 1)
    return _cut(recorder, tensor, dim, size, _divided(recorder, rows, size))


def _chunks(recorder: Recorder, tensor: torch.Tensor, dim: int, count: int) -> Any:
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
