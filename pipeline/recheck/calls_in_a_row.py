"""What calls of a function in a row change in Python's objects, also in those that the first of them has made."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .reach.contents.kept_tensors import KeptTensors
from .reach.later import Moves
from .reach.objects import Objects

Call = Callable[[], tuple[bool, str]]


class CallsInARow:
    """Calls in a row, with what the last of them has moved.

    A global, a cache or a singleton that the first call fills leads to an object which nothing led to before. Its
    content is known from after that call on.

    Args:
        process: the user's function.
        objects: what it can reach before any call.

    Attributes:
        moving: what the last call changed: places, keys, and what stood there after it.
        before: what had changed before that call.
    """

    def __init__(self, process: Any, objects: Objects) -> None:
        self._process, self._objects = process, objects
        self._made: list[tuple[Objects, KeptTensors]] = []
        self.moving, self.before = Moves(), Moves()

    def over(self, calls: Iterable[Call], *, idle_ends: bool = False) -> tuple[bool, str, int]:
        """Makes calls until one fails: returns whether the last ran, how it differed, and its number from 0.

        Args:
            calls: each returns whether it ran, and how its result differs; empty if not at all.
            idle_ends: whether a first call that changes nothing is the only one.
        """
        state, ran, found, number = self._objects.state, True, "", 0
        self.moving = Moves()
        for number, call in enumerate(calls):
            self.before = state()
            ran, found = call()
            grown = ran and not found and (number or self._objects.has_grown())
            if not grown and (idle_ends or not ran or found):
                return ran, found, number
            if grown and not number:
                state = self._search()
        self.moving = [each for each in state() if each not in self.before]
        return ran, found, number

    def _search(self) -> Callable[[], Moves]:
        """Looks for what the function can reach now; returns what tells what changes in it from now on."""
        reached = Objects(self._process)
        tensors = KeptTensors(each for key, each in reached.tensors.items() if key not in self._objects.tensors)
        self._made.append((reached, tensors))
        return lambda: [*reached.state(), *tensors.state()]

    def restore(self) -> bool:
        """Gives back what calls have changed; returns whether that led to objects that calls have made."""
        anew, moved = bool(self._made), False
        while self._made:
            made, tensors = self._made.pop()
            moved = tensors.restore() or made.first_change() is not None or moved
            made.restore()
        self._objects.restore()
        if moved:  # a cache gives the same object to all calls
            self._objects.empty_caches()
        return anew
