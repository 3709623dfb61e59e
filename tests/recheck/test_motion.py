"""State that calls move while no answer shows it: a bound, a choice or a division hides it on the example."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import tracepack
from tests.trust.trials import refused, trial

X = torch.rand(2, 3) * 3 + 1
SMALL = torch.full((2, 3), 1e-3)
HIDDEN: dict[str, Callable[[torch.Tensor, Any], torch.Tensor]] = {
    "quotient": lambda x, n: 0.5 // (x * n),
    "bound": lambda x, n: (x * n).clamp(min=1e4, max=1e4 + 1).maximum(x * 9),
    "where": lambda x, n: torch.where(x.sum() > 1e5, x * n, x),
    "cond": lambda x, n: tracepack.cond(x.sum() > 1e5, lambda: x * n, lambda: x),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_state_that_no_answer_shows_is_refused(name: str) -> None:
    def make() -> Callable[[torch.Tensor], torch.Tensor]:
        seen = SimpleNamespace(sum=0.0)

        def process(x: torch.Tensor) -> torch.Tensor:
            seen.sum += float(x.mean())
            return HIDDEN[name](x, seen.sum)

        return process

    refused(trial(make, X, others=[(SMALL,), (X * 1e9,)]), "keeps state|differs", "test_motion.py")


def test_what_only_notes_is_taken() -> None:
    weight = torch.nn.Parameter(torch.rand(3, 3))
    op = tracepack.script(torch.nn.Linear(3, 3), device="cpu")

    def make() -> Callable[[torch.Tensor], Any]:
        seen, sizes = SimpleNamespace(sum=0.0, calls=0, mean=torch.zeros(3)), deque[int](maxlen=100)

        def process(x: torch.Tensor) -> Any:
            seen.sum += float(x.mean())
            seen.calls += 1
            seen.mean = 0.9 * seen.mean + 0.1 * x.mean(0)
            sizes.append(x.shape[0])
            return op(x) @ weight, torch.where(x > 0, x, -x)

        return process

    assert trial(make, X, others=[(SMALL,), (torch.rand(5, 3),)]) == "right"


def test_what_only_notes_is_taken_beside_draws() -> None:
    calls, generator = SimpleNamespace(n=0), torch.Generator().manual_seed(3)

    def process(x: torch.Tensor) -> torch.Tensor:
        calls.n += 1
        return x + torch.rand(3, generator=generator)

    mod = tracepack.trace(process, X)
    wanted = torch.Generator().manual_seed(3)
    assert [torch.equal(mod(X), X + torch.rand(3, generator=wanted)) for _ in range(3)] == [True] * 3


def test_keys_of_a_recording_do_not_stay_in_a_dict() -> None:
    counts, last = Counter[Any](), dict[Any, int]()

    def process(x: torch.Tensor) -> torch.Tensor:
        counts[tuple(x.shape)] += 1
        counts["all"] += 1
        last[x.shape[1]] = counts["all"]
        return x * 2

    mod = tracepack.trace(process, X)
    assert (counts, last) == ({}, {})
    assert torch.equal(mod(X), X * 2)
