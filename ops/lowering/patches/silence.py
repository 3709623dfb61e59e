"""Silences torch.export's warnings, log and prints, in the lowering thread only.

The error that it raises holds what a user needs of them.
"""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Callable
from typing import Any

from ...runtime.interrupts.changes import Change
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
        self.filter = _Unheard()

    def make(self) -> None:
        """Adds the filter and the patches."""
        self.filter.make()
        super().make()

    def undo(self) -> None:
        """Removes the filter and the patches."""
        super().undo()
        self.filter.undo()


class _InThread(type):
    """The type of a warning category that includes every warning of one thread, while it is in use.

    A `catch_warnings` of another thread may put a list of filters back that still has the category.
    """

    thread: int | None

    def __subclasscheck__(cls, kind: type) -> bool:
        return threading.get_ident() == cls.thread


class Filter(Change):
    """The first filter of warnings, for all threads.

    `warnings.catch_warnings` puts a whole list back: where two overlap one restores the filters of the other.

    Args:
        rule: the filter as `warnings.filters` has it.
    """

    of_process = True

    def __init__(self, rule: Any) -> None:
        self.rule = rule

    def make(self) -> None:
        """Puts it before the others."""
        self._filters.insert(0, self.rule)
        self._changed()

    def undo(self) -> None:
        """Takes it away."""
        for rule in [rule for rule in self._filters if rule is self.rule]:
            self._filters.remove(rule)
        self._changed()

    @property
    def _filters(self) -> list[Any]:
        filters: Any = warnings.filters
        return filters  # type: ignore[no-any-return]  # typeshed has it as a sequence that none may change

    def _changed(self) -> None:
        """Tells Python that the filters changed, since it caches their decisions."""
        module: Any = warnings
        known = vars(module)  # the function has another name from Python 3.14 on
        mutated = known.get("_filters_mutated") or known["_filters_mutated_lock_held"]
        mutated()


class _Unheard(Filter):
    """The filter that ignores every warning of one thread."""

    def __init__(self) -> None:
        self.category = _InThread("Unheard", (Warning,), {"thread": None})
        super().__init__(("ignore", None, self.category, None, 0))

    def make(self) -> None:
        self.category.thread = threading.get_ident()
        super().make()

    def undo(self) -> None:
        self.category.thread = None
        super().undo()
