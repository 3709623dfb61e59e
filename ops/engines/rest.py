"""Whether engines rest, while answers are compared bit by bit; or run alone, while their own answers are wanted."""

from __future__ import annotations

import threading

from ..runtime.interrupts.changes import Change

_state = threading.local()


class Exactly(Change):
    """While it is entered, engines of this thread rest, and pipelines run the flat function: its bits are compared."""

    def __init__(self) -> None:
        self.before = engines_rest()

    def make(self) -> None:
        """Lets engines rest."""
        _state.exactly = True

    def undo(self) -> None:
        """Lets them run as before."""
        _state.exactly = self.before


def engines_rest() -> bool:
    """Whether engines of this thread rest."""
    return bool(getattr(_state, "exactly", False))


class Alone(Change):
    """While it is entered, engines of this thread answer without being held against the nodes at new sizes."""

    def __init__(self) -> None:
        self.before = engines_alone()

    def make(self) -> None:
        """Takes the answers of engines as they are."""
        _state.alone = True

    def undo(self) -> None:
        """Holds them against the nodes as before."""
        _state.alone = self.before


def engines_alone() -> bool:
    """Whether the answers of engines are taken as they are."""
    return bool(getattr(_state, "alone", False))
