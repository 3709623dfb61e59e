"""Changes that last for a while, each in a journal before it is made.

An interrupt can come at any bytecode: inside a `finally`, or after an `__enter__` has returned and before its block has
begun. Neither `with` nor `try` undoes a change then. Therefore a Change stands in its thread's journal before anything
is changed, and the guard around the verb (`verbs.undisturbed`) undoes what stands there when an exception ends it.
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
        if self in changes:  # a guard may have removed it already
            changes.remove(self)

    @abstractmethod
    def make(self) -> None:
        """Makes the change."""

    @abstractmethod
    def undo(self) -> None:
        """Undoes it, as far as it is made."""


class Kept(Change):
    """A change that is undone only where an exception ends the block."""

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
    """The number of changes of this thread that are not undone yet."""
    return len(_journals.changes)


def undo_from(start: int) -> None:
    """Undoes the changes of this thread except for the `start` oldest ones."""
    changes = _journals.changes
    while len(changes) > start:
        changes[-1].undo()
        changes.pop()


class Lock:
    """A reentrant lock that an interrupt releases.

    A plain lock stays locked where an interrupt comes between the end of the `with` block and `__exit__`.
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
        """Releases it."""
        self._lock.release()

    def __call__(self) -> Change:
        """A context that holds the lock."""
        return _LockHeld(self)


class _LockHeld(Change):
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


def release(lock: Any) -> None:
    """Releases an RLock that this thread still holds because of an interrupt."""
    if lock._is_owned():
        lock.release()
