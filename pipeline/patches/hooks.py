"""What is replaced in other modules while something is recorded: set for the first recording, undone after the last.

The replacements are seen by the whole process, and do what was there before in threads that record nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...ops.tracing_hook import current
from ..recording.recorder import Recorder

_ABSENT = object()


def active() -> Recorder | None:
    """The recorder of this thread, unless it runs something of its own."""
    recorder = current()
    return recorder if isinstance(recorder, Recorder) and not recorder.busy else None


class Hooks:
    """Replacements of attributes, and how many recordings need them.

    Args:
        places: owner and name of each attribute, and what makes its replacement of what it is.
    """

    def __init__(self, places: Sequence[tuple[Any, str, Callable[[Any], Any]]]) -> None:
        self._places = places
        self._lock = threading.Lock()
        self._users = 0
        self._plain: list[tuple[Any, str, Any]] = []

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Keeps them set."""
        self._enter()
        try:
            yield
        finally:
            self._leave()

    def _enter(self) -> None:
        with self._lock:
            self._users += 1
            if self._users > 1:
                return
            for owner, name, make in self._places:
                own = vars(owner).get(name, _ABSENT)  # as it is stored: a classmethod, not what it gives
                setattr(owner, name, make(own if own is not _ABSENT else getattr(owner, name, None)))
                self._plain.append((owner, name, own))

    def _leave(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users:
                return
            while self._plain:
                owner, name, own = self._plain.pop()
                if own is _ABSENT:
                    delattr(owner, name)
                else:
                    setattr(owner, name, own)
