"""Refuses a branch on `NotImplemented`: what `(0).__lt__` gives for a number that is recorded.

Such a method of a plain number or text looks at the type of its argument in C, where no stand-in is met, and what it
gives instead of an answer counts as true. Python warns of that branch, and from 3.14 on refuses it itself.
"""

from __future__ import annotations

from ...ops.runtime.interrupts.unheard import Filter
from .hooks import active


class _Refusing:
    """What stands for the pattern of a filter: Python asks it whether a warning is meant."""

    def match(self, text: str) -> bool:
        recorder = active()
        if recorder is not None and text.startswith("NotImplemented should not be used in a boolean context"):
            recorder.refuse(
                "a branch was taken on NotImplemented: a method such as (0).__lt__ has no answer for a recorded number",
                "Write the operator: any(0 < n for n in numbers) for any(map((0).__lt__, numbers)).",
            )
        return False


def answered() -> Filter:
    """A context in which a recorder refuses such a branch."""
    return Filter(("ignore", _Refusing(), DeprecationWarning, None, 0))
