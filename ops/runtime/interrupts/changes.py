"""Changes that last for a while, each in a journal before it is made.

An interrupt can come at any bytecode: inside a `finally`, or after an `__enter__` has returned and before its block has
begun. Neither `with` nor `try` undoes a change then. Therefore a Change stands in its thread's journal before anything
is changed, and the guard around the verb (`verbs.undisturbed`) undoes what still stands there when an exception ends it.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import Any


class Change(ABC):
    """Something that is changed while it is entered.

    `undo` must be right where `make` has not begun or was cut off, and where `undo` was cut off itself or ran already.
    """

    def __enter__(self) -> Any:
        _journals.changes.append(self)
        self.make()
        return self

    def __exit__(self, *exc: Any) -> None:
        self.undo()
        changes = _journals.changes
        if self in changes:  # a guard may have undone it before
            changes.remove(self)

    @abstractmethod
    def make(self) -> None:
        """Makes the change."""

    @abstractmethod
    def undo(self) -> None:
        """Undoes it, as far as it is made."""


class Kept(Change):
    """What comes back where an exception ends the block, and stays as it has become otherwise."""

    def __exit__(self, *exc: Any) -> None:
        if exc[0] is None:
            self.let_go()
        super().__exit__(*exc)

    @abstractmethod
    def let_go(self) -> None:
        """Makes `undo` do nothing."""


class _Journals(threading.local):
    def __init__(self) -> None:
        self.changes: list[Change] = []


_journals = _Journals()


def made() -> int:
    """How many changes of this thread are not undone."""
    return len(_journals.changes)


def undo_from(start: int) -> None:
    """Undoes the changes of this thread but for the oldest, of which so many stay."""
    changes = _journals.changes
    while len(changes) > start:
        changes[-1].undo()
        changes.pop()


class Lock:
    """A lock of the whole process that a thread takes once, however often it asks; an interrupt lets go of it.

    A plain lock is kept for good where an interrupt comes between the end of its `with` and its `__exit__`.
    """

    def __init__(self) -> None:
        self._lock: Any = threading.RLock()

    @property
    def held(self) -> bool:
        """Whether this thread has it."""
        return bool(self._lock._is_owned())

    def acquire(self) -> None:
        """Waits for it."""
        self._lock.acquire()

    def release(self) -> None:
        """Lets go of it."""
        self._lock.release()

    def __call__(self) -> Change:
        """What holds the lock while it is entered."""
        return _Held(self)


class _Held(Change):
    def __init__(self, lock: Lock) -> None:
        self.lock, self.took = lock, False

    def make(self) -> None:
        if not self.lock.held:
            self.took = True
            self.lock.acquire()

    def undo(self) -> None:
        if self.took and self.lock.held:
            self.lock.release()
        self.took = False
