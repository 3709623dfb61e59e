"""`load(..., grad=True)`: a pipeline that trains on, against the module trained in PyTorch."""

from __future__ import annotations

import copy
import io

import pytest
import torch
from torch import nn

import tracepack


class Net(nn.Module):
    """A network with a tied weight, two equal biases, an activation and a buffer."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.head = nn.Linear(4, 4)
        self.second.weight = self.first.weight
        nn.init.zeros_(self.second.bias)
        nn.init.zeros_(self.head.bias)
        self.register_buffer("scale", torch.tensor(2.0))

    def forward(self, x):
        return self.head(torch.tanh(self.second(torch.tanh(self.first(x))) * self.scale))


@pytest.fixture
def packed():
    torch.manual_seed(0)
    module, file = Net(), io.BytesIO()
    op, bias = tracepack.script(module, name="net"), nn.Parameter(torch.rand(4))
    tracepack.trace(lambda x: op(x) + bias, torch.rand(3, 4)).save(file)
    return module, bias, file.getvalue()


def train(run, weights, batches):
    optimizer = torch.optim.SGD(weights, 0.1)
    for x in batches:
        optimizer.zero_grad()
        run(x).square().mean().backward()
        optimizer.step()


def test_it_trains_as_the_module_does(packed):
    module, bias, data = packed
    module, bias = copy.deepcopy(module), copy.deepcopy(bias)
    mod = tracepack.load(data, grad=True)
    assert sorted(mod.weights()) == [
        "c0", "net.first.bias", "net.first.weight", "net.head.bias", "net.head.weight", "net.second.bias",
    ]  # fmt: skip
    batches = [torch.rand(n, 4) for n in (3, 5, 3, 1)]
    train(mod, list(mod.weights().values()), batches)
    train(lambda x: module(x) + bias, [*module.parameters(), bias], batches)
    for name, parameter in module.named_parameters():
        torch.testing.assert_close(mod.weights()[f"net.{name}"], parameter, rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(mod.weights()["c0"], bias)
    again = io.BytesIO()
    mod.save(again)
    x = torch.rand(2, 4)
    torch.testing.assert_close(tracepack.load(again.getvalue())(x), (module(x) + bias).detach(), rtol=1e-6, atol=1e-6)


def test_inputs_get_gradients_and_other_loads_stay_as_they_are(packed):
    module, bias, data = packed
    mod, other = tracepack.load(data, grad=True), tracepack.load(data)
    x = torch.rand(3, 4, requires_grad=True)
    before = other(x)
    mod(x).sum().backward()
    expected = torch.autograd.grad((module(x) + bias).sum(), x)[0]
    torch.testing.assert_close(x.grad, expected)
    with torch.no_grad():
        for weight in mod.weights().values():
            weight.zero_()
    assert torch.equal(other(x), before)
    assert other.weights() == {}
    assert not before.requires_grad


def test_running_statistics_are_saved_as_they_were_trained() -> None:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
    op, file = tracepack.script(net, name="net", training=True), io.BytesIO()
    generator = torch.Generator().manual_seed(3)

    def noisy(x: torch.Tensor) -> torch.Tensor:
        return op(x) + torch.rand(1, generator=generator)

    tracepack.trace(noisy, torch.rand(8, 3)).save(file, examples=[{"x": torch.rand(4, 3)}])
    mod = tracepack.load(file.getvalue(), grad=True)
    first = tracepack.load(file.getvalue()).state()
    net.train()
    for _ in range(3):
        x = torch.randn(8, 3) * 5 + 3
        net(x)
        mod(x)
    trained = io.BytesIO()
    mod.save(trained)
    again = tracepack.load(trained.getvalue(), verify="golden")
    for name in ("running_mean", "running_var", "num_batches_tracked"):
        torch.testing.assert_close(again.state()[f"net.1.{name}"], net.get_buffer(f"1.{name}"))
    others = first.keys() - {name for name in first if name.startswith("net.1.")}
    assert len(others) == 1  # the generator starts as it did at the trace
    assert all(again.state()[name].equal(first[name]) for name in others)
    mod.reset()
    assert mod.state()["net.1.num_batches_tracked"] == 0


def test_the_state_of_runs_without_training_is_not_saved() -> None:
    op, file = tracepack.script(torch.nn.BatchNorm1d(4), name="norm", training=True), io.BytesIO()
    mod = tracepack.trace(lambda x: op(x), torch.rand(8, 4))
    mod(torch.rand(8, 4))
    mod.save(file)
    assert tracepack.load(file.getvalue()).state()["norm.num_batches_tracked"] == 0
