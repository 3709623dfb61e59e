"""Replaces attributes of other modules while functions are recorded: from the first recording to the end of the last.

The whole process sees the replacements; in threads that record nothing they do what the originals do.
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
    """The recorder of this thread; None where there is none, or where it runs an operator itself."""
    recorder = current()
    return recorder if isinstance(recorder, Recorder) and not recorder.busy else None


class Hooks:
    """Replacements of attributes, in place while any recording needs them.

    Args:
        places: for each attribute its owner, its name, and a function from the original to the replacement.
    """

    def __init__(self, places: Sequence[tuple[Any, str, Callable[[Any], Any]]]) -> None:
        self.patches = [Patch(owner, name, partial(_replaced, owner, name, make)) for owner, name, make in places]

    def __call__(self) -> Patched:
        """A context that keeps them in place."""
        make_compiler_tables()
        return Patched(*self.patches)


def _replaced(owner: Any, name: str, make: Callable[[Any], Any], own: Any, patch: Patch) -> Any:
    """The replacement of the attribute as its owner stores it, such as a classmethod, or of the inherited one."""
    return make(getattr(owner, name, None) if own is None else own)
