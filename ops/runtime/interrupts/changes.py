"""Changes that last for a while, each in a journal before it is made.

An interrupt can come at any bytecode: inside a `finally`, or after an `__enter__` has returned and before its block has
begun. Neither `with` nor `try` undoes a change then. Therefore a Change stands in its thread's journal before anything
is changed, and the guard around the verb (`verbs.undisturbed`) undoes what stands there when an exception ends it.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Any, TypeVar
from weakref import WeakSet

L = TypeVar("L")


class Change(ABC):
    """Something that is changed while it is entered.

    `undo` must be right where `make` has not begun or was cut off, and where `undo` was cut off itself or ran already.

    Attributes:
        of_process: whether all threads see the change. A fork of the process undoes those of threads that it lacks.
    """

    of_process = False

    def __enter__(self) -> Any:
        _journals.changes.append(self)
        if self.of_process:
            _everywhere[id(self)] = (threading.get_ident(), self)
        self.make()
        return self

    def __exit__(self, *exc: Any) -> None:
        self.undo()
        _everywhere.pop(id(self), None)
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

    of_process = True

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
_everywhere: dict[int, tuple[int, Change]] = {}  # what is changed for all threads, with the thread that did it
_locks: WeakSet[Any] = WeakSet()


def forkable(lock: L) -> L:
    """A lock that is free in a fork of the process, where another thread holds it that the fork lacks."""
    _locks.add(lock)
    return lock


def _forked() -> None:
    """Leaves nothing of the threads that a fork lacks: no lock that they hold, and no change of the process."""
    for lock in list(_locks):
        if not (hasattr(lock, "_is_owned") and lock._is_owned()):
            lock._at_fork_reinit()
    for key, (thread, change) in reversed(list(_everywhere.items())):
        if thread != threading.get_ident():
            with suppress(Exception):
                change.undo()
            _everywhere.pop(key, None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def made() -> int:
    """The number of changes of this thread that are not undone yet."""
    return len(_journals.changes)


def undo_from(start: int) -> None:
    """Undoes the changes of this thread except for the `start` oldest ones."""
    changes = _journals.changes
    while len(changes) > start:
        changes[-1].undo()
        _everywhere.pop(id(changes[-1]), None)
        changes.pop()


class Lock:
    """A reentrant lock that an interrupt releases.

    A plain lock stays locked where an interrupt comes between the end of the `with` block and `__exit__`.

    Args:
        lock: an RLock that others take too; a new one by default.
        seconds: how long to wait for it; then its user goes on without it. For ever by default.
    """

    def __init__(self, lock: Any = None, seconds: float = -1) -> None:
        self._lock: Any = forkable(threading.RLock() if lock is None else lock)
        self._seconds = seconds

    @property
    def held(self) -> bool:
        """Whether this thread has it."""
        return bool(self._lock._is_owned())

    def acquire(self) -> None:
        """Waits for it."""
        self._lock.acquire(timeout=self._seconds)

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
