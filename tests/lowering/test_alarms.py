"""Alarms whose handlers raise ordinary exceptions: each comes out of the verb, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import signal

import pytest
import torch

import tracepack
from tests.campaigns.interrupts.process_state import ProcessState


class Late(Exception):
    pass


class Swallows(torch.nn.Module):
    """Rings the alarm while torch.export runs it, and catches what the handler raises, as much code does."""

    def forward(self, x):
        with contextlib.suppress(Exception):
            signal.raise_signal(signal.SIGALRM)
        return x * 2


def _late(number, frame):
    raise Late


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="this system has no alarms")
def test_a_timeout_that_something_swallowed_comes_out_of_the_verb() -> None:
    def traced(x):
        with contextlib.suppress(Exception):
            signal.raise_signal(signal.SIGALRM)
        return x * 2

    before = signal.signal(signal.SIGALRM, _late)
    try:
        for verb in (
            lambda: tracepack.script(Swallows(), example=torch.rand(3)),
            lambda: tracepack.trace(traced, torch.rand(3)),
        ):
            with pytest.raises(Late):
                verb()
            assert signal.getsignal(signal.SIGALRM) is _late
        mod = tracepack.trace(lambda x: x * 2, torch.rand(3))
        assert signal.getsignal(signal.SIGALRM) is _late
    finally:
        signal.signal(signal.SIGALRM, before)
    assert mod(torch.ones(2)).tolist() == [2, 2]


def test_alarms_that_ring_while_all_is_restored_leave_nothing(monkeypatch) -> None:
    """Handlers of alarms often raise ordinary exceptions, and an interval timer rings again and again."""
    from tracepack.ops.runtime.interrupts import verbs

    restore, rings = verbs._Before.restore, [3]

    def rung(self, error):
        if rings[0]:
            rings[0] -= 1
            raise Late
        restore(self, error)

    tracepack.trace(lambda x: x * 2, torch.rand(3))  # what torch sets at the first time is no difference
    monkeypatch.setattr(verbs._Before, "restore", rung)
    before, state = signal.getsignal(signal.SIGALRM), ProcessState()

    def traced(x):
        raise Late

    with pytest.raises((Late, tracepack.RecordError)):
        tracepack.trace(traced, torch.rand(3))
    assert not rings[0]
    assert signal.getsignal(signal.SIGALRM) is before
    assert set(ProcessState().differences(state)) <= {"thread:random numbers"}
