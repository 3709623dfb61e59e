"""`print` during a recording: the one way of turning a traced value into text that cannot come back into the graph.

Any other text of a size is guarded, and of data refused. So that a `print` left in a function does not fix its sizes,
Python's `print` is replaced for the time of a recording by one that says so.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...ops.tracing_hook import current
from ..recording.recorder import Recorder

_plain_print = builtins.print


def _print(*args: Any, **kwargs: Any) -> None:
    recorder = current()
    if not isinstance(recorder, Recorder):
        _plain_print(*args, **kwargs)
        return
    with recorder.printed():
        _plain_print(*args, **kwargs)


@contextmanager
def printable(recorder: Recorder) -> Iterator[None]:
    """Lets the function print sizes and tensors without a guard."""
    before = builtins.print
    if before is _plain_print:  # whoever has put another one there keeps it
        builtins.print = _print
    try:
        yield
    finally:
        if builtins.print is _print:
            builtins.print = before
