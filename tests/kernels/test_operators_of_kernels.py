"""Operators of torch.library: defined once, by however many threads, and whole after an interrupt."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch

from tests.campaigns.interrupts import presses
from tracepack.ops.kernels import torch_library

SCHEMA = "(Tensor x) -> Tensor"


def defined(name: str) -> Any:
    return torch_library.define(name, SCHEMA, lambda x: x * 3, torch.empty_like)


def test_threads_that_define_one_operator_at_once_get_it() -> None:
    barrier, found = threading.Barrier(8), []

    def work() -> None:
        barrier.wait(60)
        for number in range(20):
            try:
                found.append(defined(f"operator_test_{number}")(torch.ones(2)).tolist())
            except Exception as error:
                found.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[3.0, 3.0]] * 160


def test_an_interrupt_at_any_bytecode_leaves_no_half_operator() -> None:
    landed = 0
    for number in range(2000):
        name = f"interrupted_test_{number}"
        tracer = presses.AtBytecode(presses.is_any, 0, number)
        try:
            with presses.dropped(), presses.traced(tracer):
                defined(name)
        except presses.Interrupted:
            landed += 1
        assert defined(name)(torch.ones(2)).tolist() == [3.0, 3.0], f"bytecode {number}: {tracer.raised}"
        if not tracer.raised:
            break
    assert landed > 20


def test_what_torch_refuses_is_raised_here() -> None:
    with pytest.raises(RuntimeError, match="expected"):
        torch_library.define("no schema", "at all", lambda x: x, torch.empty_like)
