"""Ctrl-C at a chosen bytecode, or after some time; and where Python drops it."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import tracepack

_OURS = (os.path.dirname(os.path.abspath(tracepack.__file__)), str(Path(tracepack.__file__).resolve().parents[2]))


class Interrupted(KeyboardInterrupt):
    """The interrupt of this campaign."""


def _raise() -> None:
    raise Interrupted


class AtBytecode:
    """Interrupts at a random bytecode: some bytecodes after a call that is chosen among those that the verb makes."""

    def __init__(
        self,
        chosen: Callable[[FrameType], bool],
        call: int,
        bytecodes: int,
        interrupt: Callable[[], None] = _raise,
    ) -> None:
        self.chosen, self.left, self.bytecodes, self.raised = chosen, call, bytecodes, ""
        self.interrupt = interrupt

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        if not self.chosen(frame):
            return None
        self.left -= 1
        if self.left >= 0 or self.raised:
            return None
        frame.f_trace = self.step  # before the next line, which Python 3.13 heeds only in a frame that is traced
        frame.f_trace_opcodes = True
        return self.step

    def step(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "opcode":
            self.bytecodes -= 1
            if self.bytecodes < 0 and not self.raised:
                self.raised = f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_name} at {frame.f_lasti}"
                self.interrupt()
        return self.step


def is_near(frame: FrameType) -> bool:
    """Whether a frame is ours, or one of the context managers that ours use."""
    name = frame.f_code.co_filename
    return name.startswith((*_OURS, "<tracepack")) or name.endswith("contextlib.py")


def is_any(frame: FrameType) -> bool:
    """Any frame."""
    return True


@contextmanager
def traced(tracer: Any) -> Iterator[None]:
    """Calls a function at every call of Python, but for those of garbage of others, whose `__del__` drops an interrupt."""
    sys._getframe().f_trace_opcodes = True  # on Python 3.12 one frame has to ask before `settrace`, for the others too
    collecting = gc.isenabled()
    gc.disable()
    sys.settrace(tracer)
    try:
        yield
    finally:
        sys.settrace(None)
        if collecting:
            gc.enable()


def calls_of(verb: Callable[[], Any], chosen: Callable[[FrameType], bool]) -> int:
    """How many calls a verb makes."""
    counter = AtBytecode(chosen, 1 << 60, 0)
    with traced(counter):
        verb()
    return (1 << 60) - counter.left


@contextmanager
def dropped() -> Iterator[list[str]]:
    """Where interrupts came that Python drops: an exception in a callback of a weak reference, or in `__del__`, goes no further."""
    found: list[str] = []
    before = sys.unraisablehook

    def hook(raised: Any) -> None:
        if isinstance(raised.exc_value, Interrupted):
            found.append(repr(raised.object))
        else:
            before(raised)

    sys.unraisablehook = hook
    try:
        yield found
    finally:
        sys.unraisablehook = before


def press() -> None:
    """Ctrl-C."""
    signal.raise_signal(signal.SIGINT)


@contextmanager
def pressed_after(seconds: float | None) -> Iterator[None]:
    """A context in which Ctrl-C raises `Interrupted`, and comes after some time where one is given."""
    before = signal.signal(signal.SIGINT, _interrupted)
    alarm = signal.signal(signal.SIGALRM, lambda *_: press())
    try:
        if seconds is not None:
            signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, alarm)
        signal.signal(signal.SIGINT, before)


def _interrupted(*_: Any) -> None:
    raise Interrupted
