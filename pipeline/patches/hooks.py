"""What is replaced in other modules while something is recorded: set for the first recording, undone after the last.

The replacements are seen by the whole process, and do what was there before in threads that record nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ...ops.lowering.patches.lock import Patch, Patched
from ...ops.tracing_hook import current
from ..recording.recorder import Recorder
from .compiler_tables import make_compiler_tables


def active() -> Recorder | None:
    """The recorder of this thread, unless it runs something of its own."""
    recorder = current()
    return recorder if isinstance(recorder, Recorder) and not recorder.busy else None


class Hooks:
    """Replacements of attributes, which stand while any recording needs them.

    Args:
        places: owner and name of each attribute, and what makes its replacement of what it is.
    """

    def __init__(self, places: Sequence[tuple[Any, str, Callable[[Any], Any]]]) -> None:
        self.patches = [Patch(owner, name, partial(_replaced, owner, name, make)) for owner, name, make in places]

    def __call__(self) -> Patched:
        """Keeps them set while it is entered."""
        make_compiler_tables()
        return Patched(*self.patches)


def _replaced(owner: Any, name: str, make: Callable[[Any], Any], own: Any, patch: Patch) -> Any:
    """Made of the attribute as it is stored: of a classmethod, not of what it gives; else of an inherited one."""
    return make(getattr(owner, name, None) if own is None else own)
