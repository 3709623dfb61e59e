"""Filters of warnings that an interrupt takes away, and that other threads do not feel.

`warnings.catch_warnings` puts a whole list of filters back. Where two threads do so at overlapping times, the one that
ends last leaves the filters of the other for good: the process would never show a warning again.
"""

from __future__ import annotations

import re
import threading
import warnings
from typing import Any

from .changes import Change


class _InThread(type):
    """The type of a warning category that includes every warning of one thread, while it is in use.

    A `catch_warnings` of another thread may put a list of filters back that still has the category.
    """

    thread: int | None

    def __subclasscheck__(cls, kind: type) -> bool:
        return threading.get_ident() == cls.thread


class Filter(Change):
    """The first filter of warnings, for all threads.

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


class Unheard(Filter):
    """The filter that ignores every warning of one thread, or those whose text begins as a pattern says.

    Args:
        message: the pattern.
    """

    def __init__(self, message: str | None = None) -> None:
        self.category = _InThread("Unheard", (Warning,), {"thread": None})
        text = None if message is None else re.compile(message, re.IGNORECASE)
        super().__init__(("ignore", text, self.category, None, 0))

    def make(self) -> None:
        """Ignores the warnings of this thread."""
        self.category.thread = threading.get_ident()
        super().make()

    def undo(self) -> None:
        """Lets them be heard again."""
        self.category.thread = None
        super().undo()
