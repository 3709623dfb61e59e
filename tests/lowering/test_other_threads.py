"""What other threads do while a model is lowered: they draw random numbers and catch warnings."""

from __future__ import annotations

import threading
import warnings

import pytest
import torch
from torch import nn

import tracepack
from tests.lowering.questions.exporting import is_exporting
from tests.lowering.test_threads import elsewhere
from tracepack.ops.lowering.patches import silence
from tracepack.ops.lowering.patches.fx_patcher import FxPatcher


class Disturbed(nn.Module):
    """While it runs, another thread draws from torch's global generator."""

    def __init__(self, refused: bool = False) -> None:
        super().__init__()
        self.refused = refused

    def forward(self, x):
        if not is_exporting():
            DRAWN.append(elsewhere(lambda: torch.randint(0, 2**62, ()).item()))
        return x * 2 if not self.refused or x.sum() > 0 else x


DRAWN: list[float] = []


@pytest.fixture(autouse=True)
def _no_draws() -> None:
    DRAWN.clear()


def test_a_draw_of_another_thread_makes_no_model_random() -> None:
    op = tracepack.script(Disturbed(), example=torch.rand(3))
    assert torch.equal(op(torch.ones(3)), torch.full((3,), 2.0))
    assert len(DRAWN) > 1
    assert len(set(DRAWN)) == len(DRAWN)


def test_a_lowering_that_fails_gives_no_other_thread_its_numbers_again() -> None:
    for _ in range(2):
        with pytest.raises(tracepack.LoweringError, match="only the data of a run decides"):
            tracepack.script(Disturbed(refused=True), example=torch.rand(3))
    assert len(DRAWN) > 1
    assert len(set(DRAWN)) == len(DRAWN)


class Drops(nn.Module):
    def forward(self, x):
        return nn.functional.dropout(x, 0.5, training=True)


class Branches(nn.Module):
    def forward(self, x):
        noise = x + torch.rand_like(x)
        return noise * 2 if noise.sum() > 0 else noise


@pytest.mark.parametrize("model", [Drops(), Branches()])
def test_a_random_model_that_is_refused_leaves_the_generator_as_it_was(model) -> None:
    x, state = torch.rand(3), torch.get_rng_state()
    with pytest.raises(tracepack.LoweringError):
        tracepack.script(model, example=x)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_filter_of_warnings_that_another_thread_puts_back_silences_nothing() -> None:
    entered, leave = threading.Event(), threading.Event()

    def catches() -> None:
        with warnings.catch_warnings():
            entered.set()
            assert leave.wait(60)

    thread = threading.Thread(target=catches)
    with warnings.catch_warnings():
        with silence.Silence():
            thread.start()
            assert entered.wait(60)
        leave.set()
        thread.join()
        with pytest.raises(UserWarning, match="heard"):  # these tests turn warnings into errors
            warnings.warn("heard", UserWarning, stacklevel=1)


def test_modules_run_in_another_thread_while_torch_fx_traces() -> None:
    """torch.fx replaces methods of every nn.Module while it traces, as the conversion of a ScriptModule does."""
    model, x, seen = nn.Sequential(nn.Linear(2, 2), nn.ReLU()), torch.rand(3, 2), []
    wanted = model(x)

    def traced(x):
        seen.append(elsewhere(lambda: model(torch.rand(3, 2)).shape))
        seen.append(elsewhere(lambda: model(X)))
        return x * 2

    with FxPatcher():
        graph = torch.fx.symbolic_trace(Calls(traced))
    assert torch.equal(graph(x), x * 2)
    assert seen[0] == (3, 2)
    torch.testing.assert_close(seen[1], model(X))
    torch.testing.assert_close(model(x), wanted)


X = torch.rand(3, 2)


class Calls(nn.Module):
    def __init__(self, function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


class Printed(nn.Module):
    """While it is exported, another thread prints a tensor: torch takes off, and puts on, the modes that it finds."""

    def forward(self, x):
        if is_exporting():
            MODES.append(elsewhere(torch._ops._len_torch_dispatch_stack_pre_dispatch))
            PRINTS.append(elsewhere(lambda: repr(torch.zeros(2))))
        return x * 2


MODES: list[int] = []
PRINTS: list[str] = []


def test_a_print_of_another_thread_does_not_touch_the_modes_of_an_export() -> None:
    op = tracepack.script(Printed(), example=torch.rand(3))
    assert torch.equal(op(torch.ones(3)), torch.full((3,), 2.0))
    assert set(MODES) == {0}
    assert set(PRINTS) == {"tensor([0., 0.])"}
    assert torch._ops._len_torch_dispatch_stack_pre_dispatch() == 0
