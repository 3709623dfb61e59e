"""Silences torch.export's warnings, log and prints, in the lowering thread only.

The error that it raises holds what a user needs of them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from ...runtime.interrupts.unheard import Unheard
from .lock import Patch, Patched


def _unless_needed(original: Any, patch: Patch) -> Callable[..., None]:
    def show(*args: Any, **kwargs: Any) -> None:
        if not patch.needed:
            (original or print)(*args, **kwargs)

    return show


def _disabled(original: Any, patch: Patch) -> Callable[..., bool]:
    def isEnabledFor(self: Any, level: int) -> bool:
        if level <= logging.ERROR and patch.needed:
            return False
        return bool(original(self, level))

    return isEnabledFor


_logs = Patch(logging.Logger, "isEnabledFor", _disabled)
_prints: list[Patch] = []


class Silence(Patched):
    """While it is entered, this thread shows no warnings, no prints of torch.export, and no logs below critical."""

    def __init__(self) -> None:
        from torch.export import _trace

        if not _prints:
            _prints.append(
                Patch(_trace, "print", _unless_needed)
            )  # with this torch.export prints the graph where it fails
        super().__init__(_logs, _prints[0])
        self.filter = Unheard()

    def make(self) -> None:
        """Adds the filter and the patches."""
        self.filter.make()
        super().make()

    def undo(self) -> None:
        """Removes the filter and the patches."""
        super().undo()
        self.filter.undo()
