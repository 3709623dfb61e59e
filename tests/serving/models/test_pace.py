"""Which runs may hold the event loop: those that were seen to be short, of pipelines whose sizes tell how long."""

from __future__ import annotations

import pytest
import torch

import tracepack
from tracepack.serving.models.pace import Pace, is_foreseeable, size_of


def repeated(x: torch.Tensor, turns: int) -> torch.Tensor:
    return tracepack.while_loop(lambda i, v: i < turns, lambda i, v: (i + 1, v + 1), 0, x)[1]


class Halving(torch.nn.Module):
    """Its loop depends on data, so that it stays TorchScript."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        while bool(x.sum() > 1):
            x = x / 2
        return x


def test_a_loop_is_never_known_to_be_short() -> None:
    pace = Pace(is_foreseeable(tracepack.trace(repeated, torch.ones(2), 3).graph))
    for _ in range(3):
        pace.note(16, 1e-6)
    assert not pace.is_short(16)


@pytest.mark.filterwarnings("ignore")  # that TorchScript is deprecated, and that the op stays TorchScript
def test_code_of_which_nobody_knows_is_never_known_to_be_short() -> None:
    op = tracepack.script(torch.jit.script(Halving()))
    mod = tracepack.trace(lambda x: op(x), torch.ones(2))
    assert not is_foreseeable(mod.graph)


def test_the_slower_of_two_runs_counts_and_the_first_does_not() -> None:
    pace = Pace(is_foreseeable(tracepack.trace(lambda x: x * 2, torch.ones(2)).graph))
    pace.note(16, 1.0)
    assert not pace.is_short(16)
    pace.note(16, 1e-6)
    assert not pace.is_short(16)
    pace.note(16, 1e-6)
    assert pace.is_short(16)
    assert not pace.is_short(1600)


@pytest.mark.parametrize("number", [100_000, -100_000])
def test_a_number_counts_as_what_it_is(number: int) -> None:
    """Since it may be a number of elements, or of turns."""
    assert size_of({"n": number}) == 100_008
    assert size_of({"n": True}) < 16
