"""What a thread makes of an artefact while the rest of its file is read, so that the first call need not wait for it.

A session of ONNX Runtime is most of the way from a file to its first answer. It is made of the artefact and the weights
alone, and Python's lock is free meanwhile; so the graphs are read, checked and compiled beside it. The artefact's hash
is compared before. That of weights, which are mere numbers to a runtime, is compared beside it: a load that finds
another one gives no pipeline.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import torch

from ...graph.program import Artefact
from ...runtime.interrupts.forks import forgets_in_forks
from .huge_pages import NewMemory

_started: WeakKeyDictionary[Artefact, EarlyStart] = WeakKeyDictionary()
_running: WeakSet[EarlyStart] = WeakSet()


class EarlyStart:
    """A thread that makes something for an artefact; `start` begins one.

    Args:
        make: makes it; where it fails, whoever opens the artefact makes it anew and meets the error.
        expected: about how many bytes of memory that takes.

    Attributes:
        memory: the memory that this process took since.
    """

    def __init__(self, make: Callable[[], Any], expected: int) -> None:
        self.memory = NewMemory(expected)
        self._threads = torch.get_num_threads()
        self._made: Any = None
        self._thread = threading.Thread(target=self._run, args=(make,), name="tracepack engine")
        forgets_in_forks(self)
        _running.add(self)
        self._thread.start()  # which gives Python's lock to the thread, until that computes

    def _run(self, make: Callable[[], Any]) -> None:
        with suppress(Exception):
            self._made = make()
        _running.discard(self)

    def wait(self) -> None:
        """Waits until the thread has ended."""
        self._thread.join()

    def take(self) -> Any:
        """What was made; None where that failed, or torch has another number of threads by now."""
        self.wait()
        return self._made if torch.get_num_threads() == self._threads else None

    def forget(self) -> list[object]:
        """Lets go of what was made, which has threads of its own, and returns it."""
        found, self._made = self._made, None
        return [] if found is None else [found]


def start(artefact: Artefact, make: Callable[[], Any], expected: int) -> None:
    """Makes something for an artefact in a thread, where the machine has a core for it."""
    if _cores() > 1:
        _started[artefact] = EarlyStart(make, expected)


def started(artefact: Artefact) -> EarlyStart | None:
    """What was started for an artefact and not taken yet."""
    return _started.get(artefact)


def taken(artefact: Artefact) -> Any:
    """What a thread made for an artefact, once; None where there is nothing that can be used."""
    early = _started.pop(artefact, None)
    return None if early is None else early.take()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _before_fork() -> None:
    """Has threads end that may hold locks of a runtime, which would stay locked in the fork."""
    for early in list(_running):
        early.wait()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork)
