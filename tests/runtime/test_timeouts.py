"""A timeout that the handler of an alarm raises while a pipeline runs comes out as it is."""

from __future__ import annotations

import functools
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch

import tracepack
from tracepack.ops.runtime.emitter import Emitter

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="this system has no alarms")


class Late(Exception):
    pass


def late(number, frame):
    raise Late


class Handler:
    def __call__(self, number, frame):
        self.method(number, frame)

    def method(self, number, frame):
        raise Late


@contextmanager
def rung_until_heard() -> Iterator[None]:
    """Python swallows what a handler raises in a destructor or a weak reference's callback, and only reports it."""
    before = sys.unraisablehook
    sys.unraisablehook = lambda raised: None if isinstance(raised.exc_value, Late) else before(raised)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.unraisablehook = before


@pytest.mark.parametrize("handler", [late, Handler(), Handler().method, functools.partial(late)])
def test_a_timeout_of_a_run_is_no_error_of_a_node(handler, reloaded) -> None:
    def slow(x):
        return tracepack.while_loop(lambda x: x.max() < 1e30, lambda x: x * 1.000001, x) + 1

    mod = reloaded(tracepack.trace(slow, torch.full((2,), 2e30)))
    before = signal.signal(signal.SIGALRM, handler)
    try:
        with rung_until_heard():
            for seconds in (0.01, 0.02, 0.03):
                signal.setitimer(signal.ITIMER_REAL, seconds, 5.0)
                with pytest.raises(Late):
                    mod(torch.ones(2))
    finally:
        signal.signal(signal.SIGALRM, before)
    assert mod(torch.full((2,), 3e30)).tolist() == torch.full((2,), 3e30).add(1).tolist()


def test_a_timeout_while_the_plan_is_compiled_comes_out_as_it_is(monkeypatch, reloaded) -> None:
    def rung(self, *args):
        signal.raise_signal(signal.SIGALRM)
        raise AssertionError("the handler did not raise")

    mod = reloaded(tracepack.trace(lambda x: x + 1, torch.ones(2)))
    before = signal.signal(signal.SIGALRM, late)
    try:
        with monkeypatch.context() as patched:
            patched.setattr(Emitter, "_function", rung)
            with pytest.raises(Late):
                mod(torch.ones(2))
    finally:
        signal.signal(signal.SIGALRM, before)
    assert mod(torch.ones(2)).tolist() == [2, 2]


def test_what_a_node_raises_itself_names_the_node_whatever_handlers_there_are() -> None:
    before = signal.signal(signal.SIGALRM, late)
    try:
        mod = tracepack.trace(lambda x, i: x[i], torch.rand(3), torch.tensor([0]))
        with pytest.raises(tracepack.NodeError, match="index"):
            mod(torch.rand(3), torch.tensor([7]))
    finally:
        signal.signal(signal.SIGALRM, before)
