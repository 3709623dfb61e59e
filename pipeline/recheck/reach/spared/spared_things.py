"""Spares the user's objects what the calls of a trace would do to them, where setting back is not possible.

Copies stand in place of iterators and hashes while a function is traced. Locks and the like belong to all threads, so
that a copy would guard nothing: what was done to them is undone at the end, where no other thread may have done it.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from .....ops.graph.errors import RecordError, add_place
from .....ops.runtime.interrupts.changes import Change
from ..contents.hidden import DATABASE, ITERATOR, QUEUE
from ..contents.word_lists import TOKENIZER
from ..objects import Objects
from ..places import Location, Named, Variable
from .copied_iterators import copied


class Spared(Change):
    """While it is entered, a function has copies of what its calls would use up.

    Args:
        process: the function, or whatever is called.
    """

    def __init__(self, process: Any) -> None:
        self._process, self._lent = process, list[tuple[Location, Any, Any, Any]]()
        self._undoing: list[Callable[[], None]] = []
        self._places: list[Location] = []

    def make(self) -> None:
        """Puts copies in place."""
        reached, made = Objects(self._process), dict[int, Any]()
        for place in reached.places():
            for key, thing in [*place.before.items()]:
                if isinstance(place.holder, _HOLDERS) and (other := copied(thing, made)) is not None:
                    self._lent.append((place, key, thing, other))
                    _put(place, key, other)
        self._places = [place for place in reached.places() if place.name in _NEVER_SET_BACK]
        self._undoing = [undo for thing in reached.shared_with(reached) if (undo := _undoing(thing)) is not None]

    def tell(self, error: RecordError) -> None:
        """Adds to a refusal what its calls have used up, and which nothing gives back."""
        moved = dict.fromkeys(place.name for place in self._places if place.changed())
        if moved:
            error.what += f" (the trace has moved {' and '.join(moved)} on, which nothing sets back)"
            add_place(error, "")

    def undo(self) -> None:
        """Puts the objects themselves back, unless something else stands there."""
        while self._lent:
            place, key, thing, other = self._lent[-1]
            with suppress(Exception):  # the holder lets nobody write any more
                if place.read().get(key) is other:
                    _put(place, key, thing)
            self._lent.pop()
        undoing, self._undoing = self._undoing, []
        if len(sys._current_frames()) == 1:
            for undo in undoing:
                undo()


_NEVER_SET_BACK = frozenset((ITERATOR, QUEUE, DATABASE, TOKENIZER))
_HOLDERS = (dict, list, Named, Variable)


def _put(place: Location, key: Any, thing: Any) -> None:
    match place.holder:
        case Named():
            place.holder.put(key, thing)
        case Variable():
            place.write({key: thing})
        case _:
            place.holder[key] = thing


def _undoing(thing: Any) -> Callable[[], None] | None:
    """What undoes in the end what calls did to a lock, an event or a semaphore; None for other things."""
    match thing:
        case threading.Event():
            was_set = thing.is_set()
            return lambda: thing.set() if was_set else thing.clear()
        case threading.Semaphore():
            return _permits(thing, thing._value)
        case _ if type(thing) is _LOCK:
            return _lock(thing, thing.locked())
        case _ if type(thing) is _OWNED:
            return _owned(thing)
    return None


_LOCK, _OWNED = type(threading.Lock()), type(threading.RLock())


def _lock(lock: Any, was_locked: bool) -> Callable[[], None]:
    def undo() -> None:
        if lock.locked() and not was_locked:
            lock.release()
        elif was_locked and not lock.locked():
            lock.acquire(blocking=False)

    return undo


def _owned(lock: Any) -> Callable[[], None]:
    was_owned = lock._is_owned()

    def undo() -> None:
        while lock._is_owned() and not was_owned:
            lock.release()

    return undo


def _permits(semaphore: Any, before: int) -> Callable[[], None]:
    def undo() -> None:
        for _ in range(before - semaphore._value):
            semaphore.release()
        for _ in range(semaphore._value - before):
            semaphore.acquire(blocking=False)

    return undo
