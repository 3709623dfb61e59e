"""Other threads write into the objects of a function while it is traced: what they wrote stays."""

from __future__ import annotations

import logging
import threading
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

import tracepack

X = torch.randn(3, 4)


@dataclass
class Metrics:
    """A plain counter, whose other methods do what cannot be followed."""

    n: int = 0

    def tell(self) -> None:
        """Writes to a log, which anybody may hear."""
        logging.getLogger("tests").info("%s requests", self.n)


class Server:
    """What a server keeps beside the function that it traces."""

    scale = 2.0
    hits = 0

    def __init__(self) -> None:
        self.n, self.last = 0, 0.0
        self.metrics = Metrics()
        self.sessions: dict[Any, Any] = {}
        self.log: list[int] = []
        self.recent: deque[int] = deque([0])
        self.seen: set[int] = set()
        self.tally: Counter[str] = Counter()
        self.ordered: OrderedDict[str, int] = OrderedDict(first=0)
        self.groups: defaultdict[str, list[int]] = defaultdict(list)
        self.array = np.zeros(100_000)

    def write(self, number: int) -> None:
        """What another thread does for each request."""
        self.n += 1
        self.metrics.n += 1
        self.sessions[f"s{number}"] = number
        self.log.append(number)
        self.recent.append(number)
        self.seen.add(number)
        self.tally[f"path {number}"] += 1
        self.ordered[f"s{number}"] = number
        self.groups[f"g{number}"].append(number)
        self.array[number] = 1
        type(self).hits += 1

    def counts(self) -> list[int]:
        """How much is there."""
        held = (self.sessions, self.log, self.recent, self.seen, self.tally, self.ordered, self.groups)
        return [self.n, self.metrics.n, *map(len, held), int(self.array.sum()), type(self).hits]

    def process(self, x: torch.Tensor) -> torch.Tensor:
        """A method that reads its object."""
        return x * self.scale if self.n >= 0 else x


@contextmanager
def writing(write: Callable[[int], None]) -> Iterator[list[int]]:
    """While it is entered, another thread writes; gives a list that gets the number of writes in the end."""
    done, numbers = threading.Event(), list[int]()

    def run() -> None:
        number = 0
        while not done.is_set() and number < 90_000:
            number += 1
            write(number)
            done.wait(0.0002)
        numbers.append(number)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield numbers
    finally:
        done.set()
        thread.join()


def _reads(server: Server) -> Callable[..., Any]:
    return lambda x: x * 2 if len(server.sessions) >= 0 and server.metrics.n >= 0 and len(server.log) >= 0 else x


def _reads_all(server: Server) -> Callable[..., Any]:
    def process(x: torch.Tensor) -> torch.Tensor:
        held = (server.sessions, server.log, server.recent, server.seen, server.tally, server.ordered)
        return x * 2 if min(map(len, held)) >= 0 and server.array[0] == 0 and server.groups.get("g") is None else x

    return process


def _counts_elsewhere(server: Server) -> Callable[..., Any]:
    own: Any = threading.local()
    own.calls = 0

    def process(x: torch.Tensor) -> torch.Tensor:
        own.calls += 1
        return x * 2 if server.n >= 0 and len(server.sessions) >= 0 and len(server.log) >= 0 else x

    return process


def _writes_another(server: Server) -> Callable[..., Any]:
    own = {"calls": 0}

    def process(x: torch.Tensor) -> torch.Tensor:
        own["calls"] += 1
        return x * 2 if server.n >= 0 and len(server.sessions) >= 0 and len(server.log) >= 0 else x

    return process


def _is_refused(server: Server) -> Callable[..., Any]:
    return lambda x: x * 2 if server.n >= 0 and len(server.log) >= 0 and id(x) % 3 == torch.rand(1) else x


def _method(server: Server) -> Callable[..., Any]:
    return server.process


_CASES = [_reads, _reads_all, _counts_elsewhere, _writes_another, _is_refused, _method]


@pytest.mark.parametrize("make", _CASES)
def test_what_another_thread_writes_stays(make: Callable[[Server], Callable[..., Any]]) -> None:
    server = Server()
    Server.hits = 0
    process, before = make(server), server.counts()
    with writing(server.write) as numbers:
        for _ in range(3):
            if make is _is_refused:
                with pytest.raises(tracepack.RecordError):
                    tracepack.trace(process, X)
            else:
                assert torch.equal(tracepack.trace(process, X)(X + 1), (X + 1) * 2)
    assert server.counts() == [count + numbers[0] for count in before]
