"""What a function asks of a whole shape: whether it is another one, and where and how often a size is in it.

A shape is a tuple of torch's own class, whose methods compare the sizes one by one and ask each for its truth, which
holds for one way only.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ....proxies.base import is_free_shape
from ....recording.recorder import Recorder
from ..operations import HandedOver, active

METHODS_OF_SHAPES = ("count", "index")
_ASKING = ("LOAD_ATTR", "LOAD_METHOD")


class ShapeOfRun:
    """Stands for a shape while one of its methods is called.

    Args:
        recorder: of the recording.
        shape: has a size of the recording.
    """

    def __init__(self, recorder: Recorder, shape: torch.Size) -> None:
        self.recorder, self.sizes = recorder, list(shape)

    def count(self, size: Any) -> Any:
        """As for a tuple."""
        return self.recorder.scalar("counted", self.sizes, size)

    def index(self, size: Any) -> Any:
        """As for a tuple."""
        return self.recorder.scalar("index", self.sizes, size)


def _compared(plain: Callable[[Any, Any], Any]) -> HandedOver:
    def compared(operands: Any) -> Any:
        one, other = operands
        recorder = active()
        if recorder is None or not (is_free_shape(one) or is_free_shape(other)):
            return plain(one, other)
        if not isinstance(one, tuple) or not isinstance(other, tuple) or len(one) != len(other):
            return plain is operator.ne
        return recorder.scalar(plain.__name__, list(one), list(other))

    return HandedOver(compared)


COMPARED = {"==": _compared(operator.eq), "!=": _compared(operator.ne)}
"""What stands for a comparison of what may be shapes."""


def comparing(instructions: Sequence[Any], index: int) -> HandedOver | None:
    """What stands for the comparison that is an instruction of code that asks for shapes; None for any other."""
    this = instructions[index]
    found = COMPARED.get(str(this.argval).removeprefix("bool(").rstrip(")")) if this.opname == "COMPARE_OP" else None
    asks = (each.opname in _ASKING and each.argval in ("shape", "size") for each in instructions)
    return found if found is not None and any(asks) else None
