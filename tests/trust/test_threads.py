"""Threads: what a function hands to another thread cannot be seen, so it is refused."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool
from typing import Any

import pytest
import torch

import tracepack
from tests.lowering.test_threads import together
from tests.trust.trials import refused, trial

X, MORE = torch.randn(2, 3), torch.randn(4, 3)
POOL = ThreadPoolExecutor(1)


def in_a_new_pool(x: torch.Tensor) -> torch.Tensor:
    with ThreadPoolExecutor(1) as pool:
        rows = pool.submit(lambda: x.shape[0]).result()
    return x * rows


def in_an_old_pool(x: torch.Tensor) -> torch.Tensor:
    return x * next(iter(POOL.map(lambda t: t.shape[0], [x])))


def truth(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if POOL.submit(lambda: bool(x.sum() > 0)).result() else x


def in_a_thread(x: torch.Tensor) -> torch.Tensor:
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(x.shape[0]))
    thread.start()
    thread.join()
    return x * found[0]


def in_a_thread_pool(x: torch.Tensor) -> torch.Tensor:
    with ThreadPool(1) as pool:
        return x * pool.map(lambda t: t.shape[0], [x])[0]


@pytest.mark.parametrize("process", [in_a_new_pool, in_an_old_pool, truth, in_a_thread, in_a_thread_pool])
def test_work_in_another_thread_is_refused(process: Any) -> None:
    found = trial(lambda: process, X.abs(), others=[(-X.abs(),), (MORE,)])
    refused(found, "another thread", f"in {process.__name__}")


def test_threads_of_others_go_on_while_something_is_traced() -> None:
    done = threading.Event()

    def elsewhere() -> None:
        with ThreadPoolExecutor(1) as pool:
            while not done.is_set():
                pool.submit(int).result()

    thread = threading.Thread(target=elsewhere)
    thread.start()
    try:
        assert trial(lambda: lambda x: x * x.shape[0], X, others=[(MORE,)]) == "right"
    finally:
        done.set()
        thread.join()


def test_another_thread_that_draws_random_numbers_disturbs_no_trace() -> None:
    done = threading.Event()

    def elsewhere() -> None:
        while not done.is_set():
            torch.rand(1)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    try:
        for _ in range(5):
            assert trial(lambda: lambda x: (x * x.shape[0]).relu() + 1, X, others=[(MORE,)]) == "right"
    finally:
        done.set()
        thread.join()


class Board:
    mark = ""


def test_traces_of_functions_that_write_to_one_object_take_turns() -> None:
    board = Board()

    def one(number: int) -> None:
        def process(x: torch.Tensor) -> torch.Tensor:
            board.mark = f"of {number}"
            time.sleep(0.005)
            assert board.mark == f"of {number}"
            return x + number

        pipeline = tracepack.trace(process, X)
        assert torch.equal(pipeline(MORE), MORE + number)

    together([lambda number=number: one(number) for number in range(3)])
    assert board.mark == ""
