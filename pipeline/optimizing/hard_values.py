"""Inputs with numbers that few examples hold, and at which runtimes differ: far, tiny, negative, NaN; empty ones.

No two numbers of a row are the same, since which of two equal ones comes first is left open.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ...ops.graph.program import Program
from ..recheck.vary import with_sizes
from .size_corners import letters

_FLOATS: tuple[tuple[str, Callable[[torch.Tensor], torch.Tensor]], ...] = (
    ("-20 and below", lambda k: -20 - k * 0.37),
    ("multiples of 0.1", lambda k: k * 0.1),
    ("multiples of -0.7", lambda k: k * -0.7),
    ("20 and above", lambda k: 20 + k * 0.37),
    ("1e-6 and above", lambda k: (1 + k) * 1e-6),
    ("1e-30 and above", lambda k: (1 + k) * 1e-30),
    ("1e4 and above", lambda k: 1e4 + 10 * k),
    ("-1e4 and below", lambda k: -1e4 - 10 * k),
)
_INTEGERS = (-1, 255, 2**24 + 1, -(2**31), 2**40 + 1, -(2**40) - 3, 2**53 + 1, 2**62 + 1)
_STEP = 3
_MISSING = (math.nan, math.inf, -math.inf)


@dataclass(frozen=True)
class HardValues:
    """Inputs with such numbers.

    Attributes:
        leaves: the flat inputs.
        said: what they hold.
        missing: whether that is a NaN, an infinity, or nothing at all.
    """

    leaves: Sequence[Any]
    said: str
    missing: bool


def hard_values(program: Program, leaves: Sequence[Any]) -> Iterator[HardValues]:
    """Inputs of the sizes of an example, one tensor of them with other numbers, and an empty batch at the end."""
    tensors = [(index, leaf) for index, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor) and leaf.numel()]
    for index, leaf in tensors:
        for said, tensor in _numbers(leaf):
            yield HardValues(_put(leaves, index, tensor), said, False)
    for index, leaf in tensors:
        for value in _MISSING if leaf.is_floating_point() else ():
            whole = leaf[:1].numel() if leaf.dim() else 1
            for begin, count in ((0, whole), (1 % leaf.numel(), 1), (leaf.numel() // 2, 1)):
                tensor = leaf.clone().contiguous()
                tensor.view(-1)[begin : begin + count] = value
                yield HardValues(_put(leaves, index, tensor), "NaN" if value != value else str(value), True)
    for places in letters(program, leaves).values():
        empty = {index: {dim: 0 for number, dim in places if number == index} for index, _ in places}
        if any(0 in sizes for sizes in empty.values()):
            changed = [with_sizes(leaf, empty[i]) if i in empty else leaf for i, leaf in enumerate(leaves)]
            yield HardValues(changed, "no rows", True)


def _numbers(leaf: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    count = torch.arange(leaf.numel(), dtype=torch.float64).reshape(leaf.shape) % 997
    if leaf.is_floating_point():
        yield "negative numbers", -leaf
        for said, make in _FLOATS:
            yield said, make(count).to(leaf.dtype)
    elif leaf.dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64):
        ends = torch.iinfo(leaf.dtype)
        for value in dict.fromkeys((*_INTEGERS, ends.max, ends.min)):
            if ends.min <= value <= ends.max:
                away = 1 if (value > 0) == (abs(value) < ends.max // 2) else -1  # from zero, or back from an end
                steps = count.to(torch.int64) * away * _STEP
                yield f"integers at {value}", (steps + value).clamp(ends.min, ends.max).to(leaf.dtype)


def _put(leaves: Sequence[Any], index: int, tensor: torch.Tensor) -> list[Any]:
    return [tensor if number == index else leaf for number, leaf in enumerate(leaves)]
