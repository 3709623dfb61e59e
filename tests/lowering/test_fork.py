"""A process that forks while another of its threads lowers a model: the fork can trace, script and run."""

from __future__ import annotations

import os
import signal
import threading
import warnings

import pytest
import torch
from torch import nn

import tracepack
from tracepack.ops.lowering.patches import silence
from tracepack.ops.lowering.patches.lock import Patch, Patched, lowering

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
PATIENCE = 120


def of_fork(function) -> int:
    """The exit code of a fork that calls a function: 0 if it returned true; a fork that hangs is killed."""
    process = os.fork()
    if process == 0:
        code = 3
        try:
            signal.alarm(PATIENCE)
            torch.set_num_threads(1)  # the threads of OpenMP stay in the parent
            code = 0 if function() else 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


class Owner:
    value = "original"


def test_a_fork_keeps_no_lock_and_no_change_of_a_thread_that_it_lacks() -> None:
    entered, leave = threading.Event(), threading.Event()
    patch, linear = Patch(Owner, "value", lambda original, patch: "replaced"), nn.Linear(4, 2)

    def lowers() -> None:
        with lowering(), Patched(patch), silence.Silence():
            entered.set()
            assert leave.wait(PATIENCE)

    def works() -> bool:
        mod = tracepack.trace(lambda x: tracepack.script(linear)(x) * 2, torch.rand(3, 4))
        x = torch.rand(5, 4)
        right = torch.allclose(mod(x), linear(x) * 2)
        return right and Owner.value == "original" and not any("Unheard" in str(rule) for rule in warnings.filters)

    assert works()
    thread = threading.Thread(target=lowers)
    thread.start()
    try:
        assert entered.wait(PATIENCE)
        assert Owner.value == "replaced"
        assert of_fork(works) == 0
        assert Owner.value == "replaced"  # the parent goes on
    finally:
        leave.set()
        thread.join()
    assert Owner.value == "original"


def test_a_pipeline_with_state_runs_in_a_fork_while_another_thread_runs_it() -> None:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("runs", torch.zeros(()))

        def forward(self, x):
            self.runs.add_(1)
            return x + self.runs

    op = tracepack.script(Counter())
    mod = tracepack.trace(lambda x: op(x), torch.zeros(2))
    assert mod(torch.zeros(2)).tolist() == [1, 1]
    held, leave = threading.Event(), threading.Event()

    def runs() -> None:
        with mod._runner.lock:
            held.set()
            assert leave.wait(PATIENCE)

    thread = threading.Thread(target=runs)
    thread.start()
    try:
        assert held.wait(PATIENCE)
        assert of_fork(lambda: mod(torch.zeros(2)).tolist() == [2, 2]) == 0
    finally:
        leave.set()
        thread.join()
    assert mod(torch.zeros(2)).tolist() == [2, 2]
