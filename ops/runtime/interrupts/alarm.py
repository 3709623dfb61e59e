"""A timeout that the handler of an alarm raises: code that catches every error must not swallow it.

`signal.alarm` with a handler that raises an ordinary exception is how servers and notebooks end what takes too long.
torch.export, and a recording that is tried in a second way, catch such errors. So what the handler raised is raised
again at the end of the verb.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

from .changes import Change

_ALARM = getattr(signal, "SIGALRM", None)  # Windows has none


class Alarm(Change):
    """While it is entered, what the handler of SIGALRM raises is noted."""

    of_process = True

    def __init__(self) -> None:
        self._handler: Any = None
        self.raised: BaseException | None = None

    def make(self) -> None:
        """Puts this in front of the handler."""
        self._handler = signal.getsignal(signal.SIGALRM)
        signal.signal(signal.SIGALRM, self._arrived)

    def undo(self) -> None:
        """Restores the handler; one that was set meanwhile stays."""
        if self._handler is not None and signal.getsignal(signal.SIGALRM) == self._arrived:
            signal.signal(signal.SIGALRM, self._handler)
        self._handler = None

    def __exit__(self, *exc: Any) -> None:
        super().__exit__(*exc)
        if self.raised is not None and self.raised is not exc[1]:
            raise self.raised

    def _arrived(self, number: int, frame: FrameType | None) -> None:
        try:
            self._handler(number, frame)
        except BaseException as error:
            self.raised = error
            raise


def rings() -> bool:
    """Whether this thread runs a handler of alarms that Python knows, and that no verb around this one watches."""
    handler = _ALARM and signal.getsignal(_ALARM)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        return False
    return not isinstance(getattr(handler, "__self__", None), Alarm)
