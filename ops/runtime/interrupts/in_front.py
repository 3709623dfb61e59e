"""What stands in front of the handler of a signal for a while."""

from __future__ import annotations

import signal
from abc import abstractmethod
from collections.abc import Callable
from types import FrameType
from typing import Any

from .changes import Change

Handler = Callable[[int, FrameType | None], Any]


class InFront(Change):
    """While it is entered, a signal arrives here first.

    An exception that a handler raises may end one of these before another that was entered after it. So one that is
    over stays able to hand signals on, and the other one steps past it when it goes.

    Args:
        number: of the signal.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self._handler: Any = None
        self._over = False

    def make(self) -> None:
        """Takes the place of the handler."""
        self._handler = signal.getsignal(self._number)
        signal.signal(self._number, self._arrived)

    def undo(self) -> None:
        """Gives it back; a handler that was set meanwhile stays."""
        self._over = True
        if signal.getsignal(self._number) == self._arrived:
            signal.signal(self._number, self._behind())

    def _behind(self) -> Handler:
        """The handler that is next: none that is over."""
        handler: Any = self._handler
        while isinstance(own := getattr(handler, "__self__", None), InFront) and own._over:
            handler = own._handler
        return handler  # type: ignore[no-any-return]  # what `getsignal` gave, and can be called

    @abstractmethod
    def _arrived(self, number: int, frame: FrameType | None) -> None:
        """Called by Python for the signal."""


def in_front_of(handler: Any) -> InFront | None:
    """The InFront that a handler of a signal is the method of; None for any other handler."""
    found = getattr(handler, "__self__", None)
    return found if isinstance(found, InFront) else None
