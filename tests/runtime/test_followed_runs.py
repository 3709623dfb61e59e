"""Torch puts a pipeline into graphs of its own, whatever ran before and at every size, and leaves its state."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

import tracepack
from tests.models import Counter

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # torch's own
BATCH = torch.export.Dim("batch", min=2)


class Caller(nn.Module):
    def __init__(self, mod: tracepack.Pipeline) -> None:
        super().__init__()
        self.mod = mod

    def forward(self, x):
        return self.mod(x * 1.0) - 0.5


@pytest.fixture
def caller(reloaded) -> Caller:
    torch.manual_seed(0)
    op = tracepack.script(nn.Linear(4, 4))
    return Caller(reloaded(tracepack.trace(lambda x: op(x).softmax(-1), torch.rand(2, 4))))


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("before", [(), (2,), (3, 7)], ids=str)
def test_a_pipeline_that_ran_is_exported_with_a_free_batch(before, strict, caller) -> None:
    for count in before:
        caller(torch.rand(count, 4))
    exported = torch.export.export(caller, (torch.rand(3, 4),), strict=strict, dynamic_shapes={"x": {0: BATCH}})
    x = torch.rand(7, 4)
    assert torch.equal(exported.module()(x), caller(x))


def test_a_pipeline_that_ran_is_compiled_once_for_all_batches(caller) -> None:
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph

    caller(torch.rand(3, 4))
    torch._dynamo.reset()
    compiled = torch.compile(caller, backend=backend, dynamic=True)
    for count in (3, 5, 6, 9):
        x = torch.rand(count, 4)
        assert torch.equal(compiled(x), caller(x))
    assert len(graphs) == 1


def exported(mod):
    return torch.export.export(Caller(mod), (torch.zeros(2),), strict=False)


def faked(mod):
    with FakeTensorMode() as mode:
        return mod(mode.from_tensor(torch.zeros(2)))


def graphed(mod):
    return make_fx(mod, tracing_mode="fake")(torch.zeros(2))


@pytest.mark.parametrize("follow", [exported, faked, graphed])
@pytest.mark.parametrize("runs", [0, 1])
def test_a_run_without_data_leaves_the_state_alone(follow, runs, reloaded) -> None:
    op = tracepack.script(Counter())
    mod = reloaded(tracepack.trace(lambda x: op(x), torch.ones(2)))
    for _ in range(runs):
        mod(torch.ones(2))
    before = mod.state()
    follow(mod)
    assert mod.state() == before
    assert mod(torch.ones(2)).tolist() == [runs + 1.0] * 2


def drawing(x):
    with tracepack.drawing(GENERATOR):
        return x + torch.randn_like(x)


GENERATOR = torch.Generator()


@pytest.mark.parametrize("runs", [0, 1])
@pytest.mark.parametrize("follow", [exported, graphed, lambda mod: make_fx(mod)(torch.zeros(2))])
def test_a_graph_that_would_draw_other_numbers_is_refused(follow, runs, reloaded) -> None:
    mod = reloaded(tracepack.trace(drawing, torch.zeros(2)))
    for _ in range(runs):
        mod(torch.zeros(2))
    words = (
        "torch cannot make a graph of random numbers that are drawn within tracepack.drawing. Trace the function anew "
        r"with the generator as an argument of what draws, as in torch.rand\(3, generator=g\), or take the random "
        "numbers as an input.$"
    )
    with pytest.raises(tracepack.SignatureError, match=words):
        follow(mod)
    with FakeTensorMode() as mode:
        assert mod(mode.from_tensor(torch.zeros(2))).shape == (2,)
