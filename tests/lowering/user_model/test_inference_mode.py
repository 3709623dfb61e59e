"""Ops that keep state, models, and examples under `torch.inference_mode`: later calls outside of it go on."""

from __future__ import annotations

import pytest
import torch

import tracepack

X = torch.ones(3)


class Sum(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3))
        self.weight = torch.nn.Parameter(torch.full((3,), 2.0))

    def forward(self, x):
        self.total += x
        return self.total * self.weight


class NamedSum(Sum):
    def forward(self, x, name: str = "a"):
        self.total += x
        return self.total * self.weight if name == "a" else x


def scripted():
    return torch.jit.script(NamedSum())


KINDS = pytest.mark.parametrize("make", [Sum, scripted])
KEPT = pytest.mark.filterwarnings("ignore::tracepack.OpaqueOpWarning", "ignore:`torch.jit:DeprecationWarning")


@KINDS
@KEPT
def test_a_call_by_hand_in_inference_mode_is_followed_by_others(make) -> None:
    op = tracepack.script(make(), device="cpu")
    with torch.inference_mode():
        assert op(X).tolist() == [2.0] * 3
    assert op(X).tolist() == [4.0] * 3
    with torch.inference_mode():
        assert op(X).tolist() == [6.0] * 3


@KINDS
@KEPT
def test_a_run_in_inference_mode_is_followed_by_others(make) -> None:
    op = tracepack.script(make(), device="cpu")
    with torch.inference_mode():
        mod = tracepack.trace(lambda x: op(x), X)
        assert mod(X).tolist() == [2.0] * 3
    assert mod(X).tolist() == [4.0] * 3
    assert op(X).tolist() == [2.0] * 3


def test_a_model_made_in_inference_mode_is_run_and_stays_as_it_was() -> None:
    with torch.inference_mode():
        model = Sum()
        op = tracepack.script(model, device="cpu")
        assert op(X).tolist() == [2.0] * 3
        assert op(X).tolist() == [4.0] * 3
        assert model.total.tolist() == [0.0] * 3
        mod = tracepack.trace(lambda x: op(x), X)
    assert [mod(X).tolist()[0], mod(X).tolist()[0]] == [2.0, 4.0]


def test_sides_read_tensors_made_in_inference_mode() -> None:
    def process(x):
        doubled = x * 2
        return tracepack.cond(x.sum() > 2, lambda: doubled * held, lambda: x - held)

    with torch.inference_mode():
        held = torch.full((3,), 5.0)
        mod = tracepack.trace(process, X)
    for x in (X, -X):
        assert torch.equal(mod(x), process(x))


def test_a_side_that_writes_to_a_tensor_made_in_inference_mode_is_refused() -> None:
    def process(x):
        return tracepack.cond(x.sum() > 2, lambda: x + 1, lambda: x.add_(1))

    told = "a branch writes to a tensor from outside"
    with torch.inference_mode(), pytest.raises(tracepack.RecordError, match=told):
        tracepack.trace(process, torch.ones(3))
