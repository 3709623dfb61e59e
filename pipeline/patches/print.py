"""`print` during a recording: the one way of turning a traced value into text that cannot come back into the graph.

Any other text of a size is guarded, and of data refused. So that a `print` left in a function does not fix its sizes,
Python's `print` is replaced for the time of a recording by one that says so.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from ...ops.lowering.patches.lock import Patch, Patched
from ...ops.tracing_hook import current
from ..recording.recorder import Recorder


def _telling(original: Any, patch: Patch) -> Callable[..., None]:
    def telling(*args: Any, **kwargs: Any) -> None:
        recorder = current()
        if not isinstance(recorder, Recorder):
            original(*args, **kwargs)
            return
        with recorder.printed():
            original(*args, **kwargs)

    return telling


_print = Patch(builtins, "print", _telling)


def printable() -> Patched:
    """Lets the function print sizes and tensors without a guard."""
    return Patched(_print)
