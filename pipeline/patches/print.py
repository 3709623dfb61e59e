"""`print` during a recording: the one way of turning a traced value into text that cannot come back into the graph.

Any other text of a size is guarded, and of data refused; so is what is printed to where the function can read it. So
that a `print` left in a function does not fix its sizes, Python's `print` is replaced for the time of a recording by
one that says so. While a function is only tried, it prints nothing.
"""

from __future__ import annotations

import builtins
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...ops.tracing_hook import current
from ..recording.recorder import Recorder
from .hooks import Hooks

_plain_print = builtins.print
_thread = threading.local()


def _print(*args: Any, **kwargs: Any) -> None:
    recorder, outside = current(), _is_read_by_people(kwargs.get("file"))
    if outside and getattr(_thread, "muted", False):
        return
    if not isinstance(recorder, Recorder) or not outside:
        _plain_print(*args, **kwargs)
        return
    with recorder.printed():
        _plain_print(*args, **kwargs)


def _is_read_by_people(file: Any) -> bool:
    """Whether what is printed goes to where it went before the function began, and not to where it may read it."""
    target = sys.stdout if file is None else file
    return any(target is stream for stream in getattr(_thread, "streams", ()))


# Whoever has put another one there keeps it.
_hooks = Hooks([(builtins, "print", lambda plain: _print if plain is _plain_print else plain)])


@contextmanager
def printable() -> Iterator[None]:
    """Lets the function print sizes and tensors without a guard."""
    streams, _thread.streams = getattr(_thread, "streams", ()), (sys.stdout, sys.stderr)
    try:
        with _hooks():
            yield
    finally:
        _thread.streams = streams


@contextmanager
def muted() -> Iterator[None]:
    """Lets a function that is only tried print nothing."""
    with printable():
        before, _thread.muted = getattr(_thread, "muted", False), True
        try:
            yield
        finally:
            _thread.muted = before
