"""Ctrl-C while a model is lowered waits until no dispatch mode runs, and comes once."""

from __future__ import annotations

import signal
import threading
import time
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tests.campaigns.interrupts import presses
from tracepack.ops.runtime.interrupts.alarm import Alarm
from tracepack.ops.runtime.interrupts.held_signal import HeldSignal


class Slow(TorchDispatchMode):
    """Presses Ctrl-C inside of a dispatch mode, and goes on for a while."""

    def __init__(self) -> None:
        super().__init__()
        self.ended = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        presses.press()
        end = time.monotonic() + 0.05
        while time.monotonic() < end:
            pass
        self.ended += 1
        return function(*args, **(kwargs or {}))


class Presses:
    """Presses Ctrl-C inside of a dispatch mode, and goes on until it comes, or is late."""

    late = False

    def __call__(self, seconds: float) -> None:
        torch.ones(3) + 1
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pass
        self.late = True


def test_ctrl_c_waits_for_the_end_of_a_dispatch_mode_while_a_model_is_lowered() -> None:
    mode, goes_on = Slow(), Presses()
    with presses.pressed_after(None), pytest.raises(presses.Interrupted), HeldSignal(signal.SIGINT), mode:
        goes_on(60)
    assert not goes_on.late
    assert mode.ended >= 1


def test_ctrl_c_comes_while_the_thread_that_sent_it_has_not_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, goes_on = signal.raise_signal, Presses()

    def slow(number: int) -> None:
        """The signal is handled before the thread that sends it goes on."""
        plain(number)
        if threading.current_thread() is not threading.main_thread():
            time.sleep(0.02)

    monkeypatch.setattr(signal, "raise_signal", slow)
    with presses.pressed_after(None), pytest.raises(presses.Interrupted), HeldSignal(signal.SIGINT), Slow():
        goes_on(5)
    assert not goes_on.late


def test_ctrl_c_that_waits_comes_at_the_end_of_the_lowering() -> None:
    handler = signal.getsignal(signal.SIGINT)

    def lowers() -> None:
        with HeldSignal(signal.SIGINT), HeldSignal(signal.SIGINT):
            __torch_dispatch__()
        raise AssertionError("the signal was lost")

    with presses.pressed_after(None), pytest.raises(presses.Interrupted):
        lowers()
    assert signal.getsignal(signal.SIGINT) is handler


def __torch_dispatch__() -> None:
    presses.press()


def test_one_ctrl_c_comes_once_whenever_the_lowering_ends() -> None:
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        for number in range(60):
            with HeldSignal(signal.SIGINT):
                __torch_dispatch__()
                time.sleep(number * 5e-5)  # the signal is sent again after 2e-3 s
            time.sleep(0.003)
            assert len(came) == number + 1
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_signal_that_is_on_its_way_when_the_lowering_ends_comes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    came: list[int] = []
    plain = signal.signal
    before = plain(signal.SIGINT, lambda number, _: came.append(number))

    def slow(number: int, handler: Any) -> Any:
        """Gives the thread that sends the signal again its time just when the handler is restored."""
        try:
            return plain(number, handler)
        finally:
            time.sleep(0.01)

    try:
        with HeldSignal(signal.SIGINT):
            monkeypatch.setattr(signal, "signal", slow)
            __torch_dispatch__()
        time.sleep(0.01)
        assert len(came) == 1
    finally:
        plain(signal.SIGINT, before)


def test_ctrl_c_comes_at_the_end_of_the_lowering_where_no_thread_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("_thread.start_new_thread", none)

    def lowers() -> None:
        with HeldSignal(signal.SIGINT):
            __torch_dispatch__()
        raise AssertionError("the signal was lost")

    with presses.pressed_after(None), pytest.raises(presses.Interrupted):
        lowers()


def test_another_thread_holds_no_signal() -> None:
    found: list[object] = []

    def lowers() -> None:
        with HeldSignal(signal.SIGINT):
            found.append(signal.getsignal(signal.SIGINT))

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=lowers)
    thread.start()
    thread.join()
    assert found == [before]


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="this system has no alarms")
def test_one_that_ends_before_another_in_front_of_it_hands_the_handler_back() -> None:
    """As where an exception of a handler comes inside of the `undo` of the inner one."""
    seen: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: seen.append(number))
    handler = signal.getsignal(signal.SIGALRM)
    try:
        outer, inner = Alarm(), HeldSignal(signal.SIGALRM)
        outer.make()
        inner.make()
        outer.undo()
        signal.raise_signal(signal.SIGALRM)
        assert seen == [signal.SIGALRM], "a signal was lost"
        inner.undo()
        assert signal.getsignal(signal.SIGALRM) is handler
    finally:
        signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="this system has no alarms")
def test_an_alarm_waits_until_no_code_of_a_dispatch_mode_runs() -> None:
    class Late(Exception):
        pass

    def late(number, frame):
        raise Late

    class Rings(TorchDispatchMode):
        finished = False

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            signal.raise_signal(signal.SIGALRM)
            Rings.finished = True
            return func(*args, **(kwargs or {}))

    before = signal.signal(signal.SIGALRM, late)
    try:
        with pytest.raises(Late), HeldSignal(signal.SIGALRM), Rings():
            torch.ones(2) + 1
        assert Rings.finished, "it came inside of the mode"
        assert signal.getsignal(signal.SIGALRM) is late
    finally:
        signal.signal(signal.SIGALRM, before)
