"""Ctrl-C, or an alarm, while a model is lowered: it waits until no code of a dispatch mode runs.

While Python code of a dispatch mode runs, torch's C++ below it has taken the mode off, and puts it on again when that
code ends. An exception that comes just where this code has put the mode on itself makes that a second time: torch then
ends the process. So the handler of the signal waits for a moment outside of such code; there are thousands a second.
"""

from __future__ import annotations

import _thread
import signal
import threading
import time
from types import FrameType
from typing import Any

from .in_front import InFront, in_front_of

_AGAIN = 0.002  # seconds from one look at the stack to the next
_LONGEST = 5.0  # seconds after which the signal is handled anyway
_DISPATCHES = "__torch_dispatch__"


class HeldSignal(InFront):
    """While it is entered by the main thread, the handler of a signal waits for a place where an exception is safe.

    Args:
        number: of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self._since: float | None = None
        self._rings: set[object] = set()  # one for each thread that is to send the signal again, until it ends
        self._echoes = False  # whether that thread sent it, and it has not arrived yet

    def make(self) -> None:
        """Puts this in front of the handler, in the main thread; an op that is lowered inside of another one has it."""
        handler = signal.getsignal(self._number)
        held = isinstance(in_front_of(handler), HeldSignal)
        if threading.current_thread() is threading.main_thread() and callable(handler) and not held:
            super().make()

    def __exit__(self, *exc: Any) -> None:
        waits, self._since = self._since is not None, None
        super().__exit__(*exc)
        if waits:
            signal.raise_signal(self._number)

    def undo(self) -> None:
        """Restores the handler, after a signal that is on its way to this one."""
        latest = time.monotonic() + _LONGEST  # a fork has no thread that rings
        while self._rings and time.monotonic() < latest:
            time.sleep(_AGAIN)
        super().undo()

    def _arrived(self, number: int, frame: FrameType | None) -> None:
        echo, self._echoes = self._echoes, False
        if echo and self._since is None:  # what it repeats was handled meanwhile
            return
        handler = self._behind()
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        if not self._over and now - self._since < _LONGEST and _dispatches(frame):
            if echo or not self._rings:  # the thread that sent this one may not have ended yet
                self._start_ringing()
            return
        self._since = None
        handler(number, frame)

    def _start_ringing(self) -> None:
        ring = object()
        self._rings.add(ring)
        try:
            _thread.start_new_thread(self._ring_again, (ring,))
        except RuntimeError:  # no thread can be had: the signal comes at the end of the lowering
            self._rings.discard(ring)

    def _ring_again(self, ring: object) -> None:
        """Sends the signal again after a moment; Python runs its handler in the main thread."""
        try:
            time.sleep(_AGAIN)
            if self._since is not None:
                self._echoes = True
                signal.raise_signal(self._number)
        finally:
            self._rings.discard(ring)


def _dispatches(frame: FrameType | None) -> bool:
    """Whether code of a dispatch mode is on the stack."""
    while frame is not None:
        if frame.f_code.co_name == _DISPATCHES:
            return True
        frame = frame.f_back
    return False
