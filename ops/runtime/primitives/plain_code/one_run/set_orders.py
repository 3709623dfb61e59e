"""Sets of texts that a block of plain Python goes through: in several orders, which must not matter to what it gives.

Python's own order is another one in each process. A block that goes through such a set runs once more with all orders
turned round: whatever hangs on which of two items comes first, such as a tie, differs then, and is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import torch

from .....graph.errors import GuardError
from .....graph.sharing.flat_items import flat_items
from ..language import FILE

ORDERS = "a set of texts is gone through, whose order is another one in each process"
MATTERS = f"{ORDERS}: the result hangs on it"
_ATOMS = (str, int, float, bool, bytes, type(None))
_PLAIN = 0
_TURNED = 1
_ROTATED = 2


class SetOrder:
    """One order of the sets of a run.

    Args:
        turn: which one.
    """

    def __init__(self, turn: int) -> None:
        self.turn = turn
        self.line = 0  # the line of the block that went through a set first

    def of(self, items: Any) -> Iterator[Any] | None:
        """The items of a set in this order; None where they have none that is the same in each process."""
        if not all(map(_is_plain, items)):
            return None
        self.line = self.line or _line_of_block()
        found = sorted(items, key=_key)
        if self.turn == _TURNED:
            found.reverse()
        elif self.turn == _ROTATED:
            found = found[1:] + found[:1]
        return _through(found, items)


order: ContextVar[SetOrder | None] = ContextVar("order", default=None)
"""That of the run of a block."""
_others: ContextVar[tuple[int, ...]] = ContextVar("others", default=(_TURNED,))


@contextmanager
def all_orders() -> Iterator[None]:
    """While it is entered, a block is tried in one more order, in which no item keeps its place."""
    token = _others.set((_TURNED, _ROTATED))
    try:
        yield
    finally:
        _others.reset(token)


def in_orders(run: Callable[[], Any], place: Callable[[int], str]) -> Any:
    """What a block gives.

    Args:
        run: runs it once.
        place: the user's line of a line of it.

    Raises:
        GuardError: it hangs on the order of a set.
    """
    first = SetOrder(_PLAIN)
    found = _run(run, first)
    for turn in _others.get() if first.line else ():
        try:
            same = _alike(found, _run(run, SetOrder(turn)))
        except Exception:
            same = False
        if not same:
            error = GuardError(MATTERS, fix="Write sorted(items) where it is gone through.")
            error.user_line = place(first.line)  # type: ignore[attr-defined]  # for the message
            raise error
    return found


def _run(run: Callable[[], Any], one: SetOrder) -> Any:
    token = order.set(one)
    try:
        return run()
    finally:
        order.reset(token)


def _through(found: list[Any], items: Any) -> Iterator[Any]:
    count = len(items)
    for each in found:
        if len(items) != count:
            raise RuntimeError("Set changed size during iteration")  # as Python says
        yield each


def _is_plain(item: Any) -> bool:
    if type(item) is tuple:
        return all(map(_is_plain, item))
    return type(item) in _ATOMS and bool(item == item)


def _key(item: Any) -> Any:
    if type(item) is tuple:
        return "tuple", tuple(map(_key, item))
    return type(item).__name__, 0 if item is None else item


def _line_of_block() -> int:
    frame = sys._getframe(2)
    while frame.f_code.co_filename != FILE and frame.f_back is not None:
        frame = frame.f_back
    return max(1, frame.f_lineno)


def _alike(one: Any, other: Any) -> bool:
    """Whether two results are the same, in the order of their keys and in every bit."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return _alike([*one.items()], [*other.items()])
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_alike, one, other))
    if isinstance(one, torch.Tensor):
        return (
            one.dtype == other.dtype and one.stride() == other.stride() and bool(_equal(one.detach(), other.detach()))
        )
    if isinstance(one, np.ndarray | np.generic):
        return bool(one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes())
    return repr(one) == repr(other) if isinstance(one, float | complex) else bool(one == other)


def _equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.shape != other.shape:
        return False
    return torch.equal(flat_items(one).view(torch.uint8), flat_items(other).view(torch.uint8))
