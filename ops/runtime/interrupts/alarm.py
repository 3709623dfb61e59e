"""A timeout that the handler of an alarm raises: code that catches every error must not swallow it.

`signal.alarm` with a handler that raises an ordinary exception is how servers and notebooks end what takes too long.
torch.export, and a recording that is tried in a second way, catch such errors. So what the handler raised is raised
again at the end of the verb.
"""

from __future__ import annotations

import functools
import signal
import threading
from types import CodeType, FrameType
from typing import Any

from .in_front import InFront, in_front_of

ALARM: int = getattr(signal, "SIGALRM", signal.SIGINT)  # Windows has none


class Alarm(InFront):
    """While it is entered, what the handler of SIGALRM raises is noted."""

    of_process = True

    def __init__(self) -> None:
        super().__init__(ALARM)
        self.raised: BaseException | None = None

    def __exit__(self, *exc: Any) -> None:
        super().__exit__(*exc)
        if self.raised is not None and self.raised is not exc[1]:
            raise self.raised

    def _arrived(self, number: int, frame: FrameType | None) -> None:
        try:
            self._behind()(number, frame)
        except BaseException as error:
            self.raised = error
            raise


def rings() -> bool:
    """Whether this thread runs a handler of alarms that Python knows, and that no verb around this one watches."""
    handler = signal.getsignal(ALARM)
    if ALARM == signal.SIGINT or not callable(handler) or threading.current_thread() is not threading.main_thread():
        return False
    return in_front_of(handler) is None


def is_of_handler(error: BaseException) -> bool:
    """Whether the handler of a signal raised an error: it is no fault of the code that it interrupted."""
    if threading.current_thread() is not threading.main_thread():
        return False
    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    codes = {_code(handler) for handler in handlers if callable(handler)} - {None}
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in codes:
            return True
        trace = trace.tb_next
    return False


def _code(handler: Any) -> CodeType | None:
    """The code of a function, a method, a partial, or an object that can be called."""
    while isinstance(handler, functools.partial):
        handler = handler.func
    function = getattr(handler, "__func__", handler)
    if not hasattr(function, "__code__"):
        function = getattr(type(handler).__call__, "__func__", type(handler).__call__)
    found = getattr(function, "__code__", None)
    return found if isinstance(found, CodeType) else None
