"""Models that count in what an attribute holds: they are refused, and left as they were."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import tracepack

X = torch.ones(1, 2)


class Tally:
    """An object of the user's own."""

    def __init__(self) -> None:
        self.calls = 0


class Counts(torch.nn.Module):
    """Moves something in each call."""

    def __init__(self, held: Any, move: Callable[[Any], Any]) -> None:
        super().__init__()
        self.layer, self.held, self.move = torch.nn.Linear(2, 2), held, move

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.move(self.held)
        return self.layer(x)


def counted(tally: Any) -> None:
    tally.calls += 1


def added(numbers: Any) -> None:
    numbers += 1


HELD: dict[str, tuple[Callable[[], Any], Callable[[Any], Any], Callable[[Any], Any]]] = {
    "a namespace": (lambda: SimpleNamespace(calls=0), counted, vars),
    "an object": (Tally, counted, vars),
    "an array": (lambda: np.zeros(2), added, np.ndarray.tolist),
    "a set": (set, lambda held: held.add(len(held)), sorted),
    "a deque": (deque, lambda held: held.append(1), list),
    "a bytearray": (bytearray, lambda held: held.append(1), bytes),
    "a dict in a dict": (lambda: {"a": {"n": 0}}, lambda held: held["a"].update(n=held["a"]["n"] + 1), repr),
    "a list in a tuple": (lambda: ([],), lambda held: held[0].append(1), repr),
    "an object in a list": (lambda: [Tally()], lambda held: counted(held[0]), lambda held: vars(held[0])),
}


@pytest.mark.parametrize("name", HELD)
def test_what_a_model_counts_in_is_refused_and_given_back(name) -> None:
    make, move, shown = HELD[name]
    model = Counts(make(), move)
    with pytest.raises(tracepack.LoweringError, match="the model changes its attribute 'held' while it runs"):
        tracepack.script(model, example=X)
    assert shown(model.held) == shown(make())


def test_what_a_model_only_reads_stays() -> None:
    class Reads(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tally, self.table, self.weight = Tally(), {"a": [2, 3]}, np.ones(2, np.float32)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.table["a"][0] + self.tally.calls + torch.from_numpy(self.weight)

    model = Reads()
    op = tracepack.script(model, example=X)
    torch.testing.assert_close(tracepack.trace(lambda x: op(x), X)(X * 3), model(X * 3), rtol=0, atol=0)
