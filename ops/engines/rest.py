"""Whether engines rest, while answers are compared bit by bit; or run alone, while their own answers are wanted."""

from __future__ import annotations

import threading
from typing import ClassVar

from ..runtime.interrupts.changes import Change

_state = threading.local()


class _Switch(Change):
    """Something that holds in this thread while it is entered."""

    name: ClassVar[str]

    def __init__(self) -> None:
        self.before = _holds(self.name)

    def make(self) -> None:
        """Switches it on."""
        setattr(_state, self.name, True)

    def undo(self) -> None:
        """Switches it as it was before."""
        setattr(_state, self.name, self.before)


def _holds(name: str) -> bool:
    return bool(getattr(_state, name, False))


class Exactly(_Switch):
    """While it is entered, engines of this thread rest, and pipelines run the flat function: its bits are compared."""

    name = "exactly"


def engines_rest() -> bool:
    """Whether engines of this thread rest."""
    return _holds(Exactly.name)


class Alone(_Switch):
    """While it is entered, engines of this thread answer without being held against the nodes at new sizes."""

    name = "alone"


def engines_alone() -> bool:
    """Whether the answers of engines are taken as they are."""
    return _holds(Alone.name)
