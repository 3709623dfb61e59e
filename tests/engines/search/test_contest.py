"""The choice among engines of nearly one speed, under the noise of a machine that others share."""

from __future__ import annotations

import random
from bisect import bisect
from collections.abc import Callable, Sequence
from types import SimpleNamespace

import pytest

from tracepack.pipeline.comparing import contest as module
from tracepack.pipeline.comparing.contest import contest
from tracepack.pipeline.optimizing.search import _order

# How many times as long as at best a product of matrices of 54 ms took, on two cores with three busy processes, and the
# share of runs up to that; a run is like the one before with a probability of 0.6.
SHARES = (0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0)
FACTORS = (1.0, 1.007, 1.017, 1.024, 1.036, 1.061, 1.316, 1.874, 2.11, 2.341, 8.0)
STAYS = 0.6
TRIALS = 400


class Machine:
    """A clock, and a processor on which a run takes its own time and what others take from it."""

    def __init__(self, seed: int) -> None:
        self.now, self.chance = 0.0, random.Random(seed)
        self.share = self.chance.random()

    def way(self, seconds: float) -> Callable[[], None]:
        def run() -> None:
            if self.chance.random() > STAYS:
                self.share = self.chance.random()
            share = min(max(self.share + self.chance.gauss(0.0, 0.05), 0.0), 0.999)
            index = bisect(SHARES, share) - 1
            part = (share - SHARES[index]) / (SHARES[index + 1] - SHARES[index])
            self.now += seconds * (FACTORS[index] + part * (FACTORS[index + 1] - FACTORS[index]))

        return run


def right(monkeypatch: pytest.MonkeyPatch, ways: Sequence[float], seconds: float) -> float:
    """How often the fastest of some ways is taken, the last one, where all others have the smaller artefact."""
    found = 0
    for seed in range(TRIALS):
        machine = Machine(seed)
        monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda machine=machine: machine.now))
        times = contest([machine.way(each) for each in ways], seconds)
        sizes = [0] * (len(ways) - 1) + [1 << 20]
        found += _order(times, sizes)[0] == len(ways) - 1
    return found / TRIALS


@pytest.mark.parametrize(
    ("ways", "seconds"),
    [
        ((0.070, 0.0315, 0.050, 0.033, 0.030), 4.5),  # MiniLM with 30 s for the search
        ((0.43, 0.42, 0.40), 4.5),  # the encoder, of which the search leaves ten rounds
        ((2e-3, 1.05e-3, 1e-3), 1.0),
    ],
)
def test_five_percent_are_told_from_noise(ways, seconds, monkeypatch) -> None:
    assert right(monkeypatch, ways, seconds) >= 0.95


def test_the_time_goes_to_those_that_are_close(monkeypatch) -> None:
    calls = {"slow": 0, "one": 0, "other": 0}
    machine = Machine(0)

    def counted(name: str, seconds: float) -> Callable[[], None]:
        run = machine.way(seconds)

        def call() -> None:
            calls[name] += 1
            run()

        return call

    monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: machine.now))
    contest([counted("slow", 0.09), counted("one", 0.03), counted("other", 0.03)], 5.0)
    assert calls["slow"] < 15 < min(calls["one"], calls["other"])


def test_one_that_is_clearly_faster_ends_it(monkeypatch) -> None:
    machine = Machine(0)
    monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: machine.now))
    contest([machine.way(0.09), machine.way(0.03)], 60.0)
    assert machine.now < 5.0
