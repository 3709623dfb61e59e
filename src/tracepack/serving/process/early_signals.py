"""SIGHUP while a server starts: without a handler it would end the process, so it is noted until the server runs.

No torch: the handler has to be there before torch is imported, which takes the longest.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

_noted: list[int] = []


@contextmanager
def noting_reloads() -> Iterator[None]:
    """A context in which SIGHUP is noted; it must be entered in the main thread."""
    before = signal.signal(signal.SIGHUP, lambda number, frame: _noted.append(number))
    try:
        yield
    finally:
        _noted.clear()
        signal.signal(signal.SIGHUP, before)


def reload_was_asked() -> bool:
    """Whether SIGHUP came since the context was entered."""
    return bool(_noted)
