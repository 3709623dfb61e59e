"""The budget of a run inside of a block of plain Python: its time, its memory, and how deep things hold each other.

A block that runs under a budget, or whose file is not trusted, is compiled with a check in each round of a loop and at
each call. All others have none: Python's loops are short, and a check takes as long as a round.
"""

from __future__ import annotations

import gc
import sys
from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ..arrays.block_arrays import CLASSES, size_of
from ..objects.model_call import ModelCall
from .block_refusals import RefusedError, refuse

MOST_DEEP = 2000
"""Things in things: Python frees, hashes and goes through them with a stack that ends."""
_BETWEEN = 4096
"""The rounds from one look at the depth to the next: Python's stack bears as many levels more."""
_ROUND = 64
"""The bytes that a round of a loop is reckoned to keep."""
_ATOMS = frozenset((str, int, float, complex, bool, bytes, type(None), type, range, CodeType, ModuleType, ModelCall))


@dataclass(frozen=True)
class Meter:
    """What a budget looks at.

    Attributes:
        tick: checks the time.
        spend: takes note of bytes.
    """

    tick: Callable[[], None]
    spend: Callable[[int], None]


meter: ContextVar[Meter | None] = ContextVar("meter", default=None)
"""That of the run."""


def under(found: Meter, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose blocks run under a budget."""

    def call(*args: Any) -> Any:
        token = meter.set(found)
        try:
            return function(*args)
        finally:
            meter.reset(token)

    return call


class _Charged(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch leaves it untyped
    """Charges a budget for what operators of torch give."""

    def __init__(self, charge: Callable[[int], None]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        self.charge = charge

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        for each in found if isinstance(found, tuple | list) else (found,):
            self.charge(each.nbytes if isinstance(each, torch.Tensor) else 0)
        return found


def tensors_charged(metered: Metered | None) -> AbstractContextManager[Any]:
    """While it is entered, tensors are charged for, where there is a budget."""
    if metered is None or metered.budget is None:
        return nullcontext()
    return _Charged(metered.check)


class Metered:
    """The checks of one call of a block under a budget.

    Args:
        budget: of the run; None where only the depth is looked at.
        name: the file of the code of the block.
        others: ids of what it was given.
    """

    def __init__(self, budget: Meter | None, name: str, others: Collection[int]) -> None:
        self.budget, self.name, self.others, self.left = budget, name, others, _BETWEEN

    def begin(self, others: Collection[int]) -> None:
        """Begins a run that is given other containers."""
        self.others, self.left = others, _BETWEEN

    def tick(self) -> None:
        """A round of a loop, or a call."""
        self.check(_ROUND)
        self.look()

    def look(self) -> None:
        """The same without a budget."""
        self.left -= 1
        if self.left < 0:
            self.left = _BETWEEN
            if is_deep(self._held(), self.others):
                refuse("things in things are nested too deeply", expected=f"at most {MOST_DEEP} levels")

    def charging(self, function: Callable[..., Any], makes: bool = False) -> Callable[..., Any]:
        """A function that pays for what it gives; for arrays that may be views where it makes all of what it gives."""

        def call(*args: Any, **named: Any) -> Any:
            self.tick()
            found = function(*args, **named)
            if isinstance(found, str | bytes):
                self.check(len(found))
            elif isinstance(found, list | tuple | dict | set | frozenset | deque):
                self.check(8 * len(found))
            if (size := size_of(found, makes)) > 0:
                self.check(size)
            return found

        return call

    def giving(self, function: Callable[..., Any], makes: bool = False) -> Callable[..., Any]:
        """A function that gives one, which pays for what it gives."""

        def call(*args: Any) -> Any:
            found = function(*args)
            return (
                self.charging(found, makes)
                if callable(found) and not (type(found) is type and found in CLASSES)
                else found
            )

        return call

    def check(self, size: int) -> None:
        """Checks the time, and takes note of bytes."""
        assert self.budget is not None
        try:
            self.budget.tick()
            self.budget.spend(size)
        except Exception as error:
            raise RefusedError(error) from None

    def _held(self) -> Iterator[Any]:
        frame: FrameType | None = sys._getframe(2)
        while frame is not None:
            if frame.f_code.co_filename == self.name:
                yield from frame.f_locals.values()
            frame = frame.f_back


def is_deep(roots: Iterator[Any], others: Collection[int] = ()) -> bool:
    """Whether things hold each other on too many levels."""
    heights = dict.fromkeys(others, 0)
    waiting = [(each, False) for each in roots if type(each) not in _ATOMS]
    while waiting:
        thing, is_done = waiting.pop()
        if is_done:
            height = 1 + max((heights.get(id(each), 0) for each in _parts(thing)), default=0)
            if height > MOST_DEEP:
                return True
            heights[id(thing)] = height
        elif id(thing) not in heights:
            heights[id(thing)] = 0
            waiting.append((thing, True))
            waiting += [(each, False) for each in _parts(thing) if type(each) not in _ATOMS]
    return False


def _parts(thing: Any) -> list[Any]:
    if isinstance(thing, FunctionType):
        return [*(thing.__closure__ or ()), *(thing.__defaults__ or ()), *(thing.__kwdefaults__ or {}).values()]
    return [] if isinstance(thing, type | FrameType) else gc.get_referents(thing)
