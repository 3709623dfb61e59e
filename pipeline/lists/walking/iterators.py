"""An iterator over a list of any length, as ``it = iter(items)`` gives: what is left of the list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....ops.tracing_hook import current
from ...proxies.base import is_traced
from ...proxies.byte_strings import TracedBytes
from ...proxies.lists import TracedList
from ...recording.recorder import Recorder

_FORM = "Use the list itself: items[1:] for what follows the first one, range(len(items)) for places in it."


class ListIterator:
    """Stands for the iterator.

    Args:
        recorder: of the recording.
        items: what it goes through.

    Attributes:
        rest: what is left; None once a loop has gone through it, which may have been left early.
        plain: Python's own iterator, where Python asks for the items.
        of_generator: whether it stands for a generator of the user's, which is run as it is where a loop that is left
            early leaves items to somebody else.
    """

    of_generator = False

    def __init__(self, recorder: Recorder, items: TracedList) -> None:
        self.recorder, self.loops = recorder, list(recorder.rounds.open)
        self.rest: TracedList | None = items
        self.plain: Iterator[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.plain is None:
            self.plain = iter(self.taken())
        return next(self.plain)

    def taken(self) -> Any:
        """What is left, for a loop or a function that goes through it."""
        if self.plain is not None:
            return self.plain
        rest = self._left()
        self.rest = None
        return rest

    def asked(self, picked: Any, *default: Any) -> Any:
        """What `next` gives.

        Args:
            picked: gives what a function picks from a list, or a default where it is empty.
            default: that of `next`.
        """
        if self.plain is not None:
            return next(self.plain, *default)
        rest = self._left()
        self.rest = self.recorder.scalar("getitem", rest, slice(1, None))
        return picked(self.recorder, rest, _first, *default)

    def _left(self) -> TracedList:
        """What is left, where that is known."""
        refuse, loops = self.recorder.refuse, self.recorder.rounds.open
        if self.rest is None:
            refuse("an iterator is asked after a loop or a function has gone through it", _FORM)
        if len(loops) != len(self.loops) or any(a is not b for a, b in zip(loops, self.loops, strict=True)):
            refuse("an iterator that was made outside of a loop is asked in it", _FORM)
        if current() is not self.recorder:
            refuse("an iterator that was made outside of a branch is asked in it", _FORM)
        assert self.rest is not None
        return self.rest


def side_by_side(iterator: ListIterator, count: int) -> list[Any]:
    """What ``zip(it, it)`` goes through: every so many-th item, one list for each place."""
    rest = iterator.taken()
    return [iterator.recorder.scalar("getitem", rest, slice(place, None, count)) for place in range(count)]


def collected(recorder: Recorder, items: Any) -> Any:
    """A list of what an iterable gives: of any length where it goes through a list of any length."""
    if is_traced(items):
        return items
    if type(items) is TracedBytes:
        return items.tensor.tolist()
    if type(items) is ListIterator:
        return items.taken()
    recorder.rounds.closing = None
    found = list(items)
    loop = recorder.rounds.closing
    if loop is None:
        return found
    return loop.gathered(found)


def _first(items: TracedList) -> Any:
    given, items.given = items.given, False  # the place of an argument is in a list of any length, too
    try:
        return items[0]
    finally:
        items.given = given
