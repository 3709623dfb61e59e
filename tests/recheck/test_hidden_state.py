"""State in objects that hold neither items nor attributes of the user's: each decides the answer after some calls."""

from __future__ import annotations

import functools
import io
import itertools
import queue
import random
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tracepack
from tests.recheck.holders import HOLDERS, MANY
from tests.trust.trials import refused, trial
from tracepack.pipeline.recheck.mismatch import Mismatch
from tracepack.pipeline.replay import Replay

X = torch.randn(4, 3)


@pytest.mark.parametrize("name", HOLDERS)
def test_state_that_shows_late_is_refused(name: str) -> None:
    def make() -> Callable[[torch.Tensor], torch.Tensor]:
        count = HOLDERS[name]()

        def process(x: torch.Tensor) -> torch.Tensor:
            return x * 2 if count() > MANY else x

        return process

    refused(trial(make, X), "keeps state|other data differs")


def test_what_is_watched_is_given_back() -> None:
    text, module, memory, draws = torch.ones(1), types.ModuleType("state"), bytearray(4), random.Random(3)
    text.note, module.note = 1, 1
    view, before = memoryview(memory), draws.getstate()

    def process(x: torch.Tensor) -> torch.Tensor:
        text.note, module.note, view[0] = 5, 5, 5
        draws.random()
        return x * 2

    with pytest.raises(tracepack.RecordError, match="a generator of random numbers"):
        tracepack.trace(process, X)
    assert (text.note, module.note, view[0], draws.getstate() == before) == (1, 1, 0, True)


def test_memory_that_somebody_views_is_given_back() -> None:
    memory = bytearray(4)
    view = memoryview(memory)

    def process(x: torch.Tensor) -> torch.Tensor:
        view[0] += 1
        return x * memory[0]

    with pytest.raises(tracepack.RecordError, match="a bytearray"):
        tracepack.trace(process, X)
    assert memory == bytearray(4)


def test_random_branches_are_refused() -> None:
    def make() -> Callable[[torch.Tensor], torch.Tensor]:
        draws = np.random.default_rng(0)
        return lambda x: x * 2 if draws.random() < 1e-9 else x

    refused(trial(make, X), "a generator of random numbers")
    refused(trial(lambda: lambda x: x * 2 if random.random() < 1e-9 else x, X), "a generator of random numbers")


def _first_by_lock() -> Callable[[torch.Tensor], torch.Tensor]:
    lock = threading.Lock()
    return lambda x: x if lock.acquire(blocking=False) else x * 2


def _scale_on_a_distribution() -> Callable[[torch.Tensor], torch.Tensor]:
    normal: Any = torch.distributions.Normal(0.0, 1.0)
    normal.known = None

    def process(x: torch.Tensor) -> torch.Tensor:
        if normal.known is None:
            normal.known = x.abs().max()
        return x / normal.known

    return process


@pytest.mark.parametrize("make", [_first_by_lock, _scale_on_a_distribution])
def test_what_the_first_call_left_out_of_sight_is_refused(make: Any) -> None:
    """The first recording is given up for it, and a later one sees nothing but what is left."""
    refused(trial(make, X, others=[(X + 1,)]), "a second recording on other data differs")


def test_counts_that_nobody_reads_are_free() -> None:
    @functools.lru_cache
    def window(size: int) -> torch.Tensor:
        return torch.hann_window(size)

    buffer, notes = io.StringIO(), queue.SimpleQueue[int]()
    assert trial(lambda: lambda x: x * window(3), X, others=[(X + 1,)]) == "right"
    assert trial(lambda: lambda x: x if buffer.closed else x * 2, X) == "right"
    assert trial(lambda: lambda x: x * 2 if notes.put(1) is None else x, X) == "right"


def test_an_object_that_stands_for_a_module_is_no_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tests_lazy", types.SimpleNamespace(n=0))

    def process(x: torch.Tensor) -> torch.Tensor:
        return x * (2 if "tests_lazy" in sys.modules else 1)

    assert torch.equal(tracepack.trace(process, X)(X + 1), (X + 1) * 2)


USED_UP: dict[str, Callable[[], Any]] = {
    "iterator": lambda: iter([1.0, 2.0, 3.0]),
    "one item": lambda: iter((2.0,)),
    "generator": lambda: (float(n) for n in range(12)),
    "repeat": lambda: itertools.repeat(2.0, 3),
    "map": lambda: map(float, "123"),
    "lines of a text": lambda: map(float, io.StringIO("1\n2\n3\n")),
}


@pytest.mark.parametrize("name", USED_UP)
def test_what_the_first_calls_of_a_trace_use_up_is_refused(name: str) -> None:
    held = USED_UP[name]()

    def process(x: torch.Tensor) -> torch.Tensor:
        return x * next(held, 0.0)

    with pytest.raises(tracepack.RecordError, match=r"keeps state in an iterator: each call goes on .* up to its end"):
        tracepack.trace(process, X)


def test_a_queue_that_is_emptied_is_refused() -> None:
    held: queue.SimpleQueue[float] = queue.SimpleQueue()
    for number in (1.0, 2.0, 3.0):
        held.put(number)
    with pytest.raises(tracepack.RecordError, match="keeps state in a queue|other data differs"):
        tracepack.trace(lambda x: x * (0.0 if held.empty() else held.get()), X)


def test_what_has_no_items_left_before_is_taken() -> None:
    held = iter(())
    assert torch.equal(tracepack.trace(lambda x: x * next(held, 2.0), X)(X), X * 2)


@pytest.mark.parametrize("mode", ["r", "rb"])
@pytest.mark.parametrize("read", [lambda file: len(file.read()), lambda file: sum(len(line) for line in file)])
def test_a_file_that_is_read_to_its_end_is_refused_and_put_back(read: Any, mode: str, tmp_path: Any) -> None:
    (tmp_path / "numbers").write_text("1\n2\n3\n")
    with (tmp_path / "numbers").open(mode) as file:
        file.readline()
        with pytest.raises(tracepack.RecordError, match="keeps state in an open file"):
            tracepack.trace(lambda x: x + read(file), X)
        assert file.tell() == 2


@pytest.mark.parametrize("period", [2, 3, 4, 7, 100, 5000])
@pytest.mark.parametrize("turn", [0, -1])
def test_state_that_comes_back_to_its_first_value_is_refused(period: int, turn: int) -> None:
    held, wanted = {"n": 0}, turn % period

    def process(x: torch.Tensor) -> torch.Tensor:
        held["n"] = (held["n"] + 1) % period
        return x * 2 if held["n"] == wanted else x

    with pytest.raises(tracepack.RecordError, match="keeps state|other data differs"):
        tracepack.trace(process, X)
    assert held == {"n": 0}


@pytest.mark.parametrize("most", [3, 5000])
def test_a_list_that_is_emptied_when_it_is_full_is_refused(most: int) -> None:
    held: list[int] = []

    def process(x: torch.Tensor) -> torch.Tensor:
        held.append(0)
        if len(held) == most:
            held.clear()
            return x
        return x * 2

    with pytest.raises(tracepack.RecordError, match="keeps state|other data differs"):
        tracepack.trace(process, X)
    assert held == []


def test_permits_that_are_used_up_are_refused() -> None:
    held = threading.Semaphore(3)

    def process(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if held.acquire(blocking=False) else x

    with pytest.raises(tracepack.RecordError, match="keeps state in a semaphore|other data differs"):
        tracepack.trace(process, X)


@pytest.mark.parametrize("most", [2, 10, 200])
def test_tensors_that_are_collected_and_used_together_are_refused(most: int) -> None:
    held: list[torch.Tensor] = []

    def process(x: torch.Tensor) -> torch.Tensor:
        held.append(x)
        if len(held) < most:
            return torch.zeros(())
        mean = torch.stack(held).mean()  # fails on tensors of several sizes
        held.clear()
        return mean

    with pytest.raises(tracepack.RecordError, match="keeps state|other data differs"):
        tracepack.trace(process, X)
    assert held == []


def test_no_other_recording_answers_a_finding_of_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of a fixed length are no way out of it."""
    plain, asked = Replay.mismatch, list[Replay]()

    def found_first(replay: Replay) -> Mismatch | None:
        asked.append(replay)
        seen = Mismatch("2 instead of 4", replay.examples.leaves, repeated=True)
        return seen if len(asked) == 1 else plain(replay)

    monkeypatch.setattr(Replay, "mismatch", found_first)
    with pytest.raises(tracepack.RecordError, match="the function keeps state: a later call answers otherwise, 2 inst"):
        tracepack.trace(lambda xs: [x + len(xs) for x in xs], [1, 2])
