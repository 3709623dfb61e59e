"""The functions that torch.fx replaces while it traces: an interrupt in its own clean-up leaves them replaced."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from torch.fx import _symbolic_trace

from ...runtime.interrupts.changes import Change


class FxPatcher(Change):
    """While it is entered torch.fx may trace; at the end what it replaced is restored, also where it did not do so."""

    def __init__(self) -> None:
        self._before: Any = _symbolic_trace.CURRENT_PATCHER

    def make(self) -> None:
        """Does nothing: torch.fx makes its changes itself."""

    def undo(self) -> None:
        """Restores what a patcher replaced that is still there, the last first."""
        patcher = _symbolic_trace.CURRENT_PATCHER
        if patcher is None or patcher is self._before:
            return
        for patch in reversed(patcher.patches_made):
            with suppress(KeyError):  # a name that was added, and is gone already
                patch.revert()
        _symbolic_trace.CURRENT_PATCHER = self._before
