"""Whether engines rest, while answers are compared bit by bit; or run alone, while their own answers are wanted."""

from __future__ import annotations

import threading
from typing import ClassVar

from ..runtime.interrupts.changes import Change


class _Switches(threading.local):
    """What holds in this thread; every call of an engine reads it.

    Attributes:
        exactly: whether engines rest.
        alone: whether their answers are taken as they are.
    """

    exactly = False
    alone = False


state = _Switches()


class _Switch(Change):
    """Something that holds in this thread while it is entered."""

    name: ClassVar[str]

    def __init__(self) -> None:
        self.before = bool(getattr(state, self.name))

    def make(self) -> None:
        """Switches it on."""
        setattr(state, self.name, True)

    def undo(self) -> None:
        """Switches it as it was before."""
        setattr(state, self.name, self.before)


class Exactly(_Switch):
    """While it is entered, engines of this thread rest, and pipelines run the flat function: its bits are compared."""

    name = "exactly"


class Alone(_Switch):
    """While it is entered, engines of this thread answer without being held against the nodes at new sizes."""

    name = "alone"
