"""A recording that goes through many rounds one by one says so while it does."""

from __future__ import annotations

import warnings

import pytest
import torch

import tracepack
from tracepack.pipeline.recording.leaves import long_loops


def summed(x):
    total = 0.0
    for row in x:
        for value in row:
            total += float(value) * 2
    return total


def test_a_recording_of_many_rounds_says_so_once(monkeypatch) -> None:
    monkeypatch.setattr(long_loops, "SECONDS", 0.0)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        mod = tracepack.trace(summed, torch.ones(16, 16))
    said = [str(each.message) for each in heard if "round by round" in str(each.message)]
    assert len(said) == 1
    assert said[0].startswith("test_long_loops.py:18 in summed")
    assert "a smaller example is traced sooner" in said[0]
    assert mod(torch.ones(16, 16)) == 512.0


def test_a_short_recording_says_nothing() -> None:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        tracepack.trace(summed, torch.ones(2, 2))
    assert not [each for each in heard if "round by round" in str(each.message)]


@pytest.mark.parametrize("count", [1000])
def test_many_operations_without_a_loop_in_time_say_nothing(count) -> None:
    def process(x):
        for _ in range(count):
            x = x + 1
        return x

    assert tracepack.trace(process, torch.zeros(2))(torch.zeros(2)).tolist() == [count, count]
