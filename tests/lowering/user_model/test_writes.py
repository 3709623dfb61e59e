"""Models that write to tensors: to those that a call makes itself, and to some that a model has from elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import tracepack


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(3))

    def forward(self, x):
        self.n += 1
        return x + self.n


class Holding(nn.Module):
    def __init__(self, held):
        super().__init__()
        self.held = held

    def forward(self, x):
        return (self.held["a"] if isinstance(self.held, dict) else self.held[0])(x)


OUTSIDE, NORM = torch.zeros(3), nn.BatchNorm1d(3)


class Global(nn.Module):
    def forward(self, x):
        return x + OUTSIDE.add_(1)


@pytest.mark.parametrize(
    "make",
    [
        lambda part: Holding({"a": part}), lambda part: Holding([part]), lambda part: lambda x: part(x) * 2,
        lambda part: Global(), lambda part: Holding([NORM]),
    ],
    ids=["a dict", "a list", "a closure", "a global", "a norm in training"],
)  # fmt: skip
def test_tensors_that_a_model_writes_and_does_not_register(make):
    part = Counter()
    with pytest.raises(
        tracepack.LoweringError, match="the model writes to its unregistered tensor, which is no buffer"
    ):
        tracepack.script(make(part), example=torch.rand(4, 3))
    assert not part.n.any()
    assert not OUTSIDE.any()
    assert int(NORM.num_batches_tracked) == 0
    assert not NORM.running_mean.any()


class Filling(nn.Module):
    def __init__(self, make):
        super().__init__()
        self.make = make

    def forward(self, x):
        made = self.make(x)
        made += 1
        return x + made


MAKES = {
    "tensor": lambda x: torch.tensor([1.0, 2.0, 3.0]),
    "Tensor": lambda x: torch.Tensor([1.0, 2.0, 3.0]),
    "new_tensor": lambda x: x.new_tensor([1.0, 2.0, 3.0]),
    "as_tensor": lambda x: torch.as_tensor([1.0, 2.0, 3.0]),
    "from_numpy": lambda x: torch.from_numpy(np.arange(3, dtype=np.float32)),
    "clone": lambda x: x[0].clone(),
}


@pytest.mark.parametrize("make", MAKES.values(), ids=MAKES)
def test_tensors_that_the_call_makes_may_be_written(make):
    op = tracepack.script(Filling(make))
    mod = tracepack.trace(lambda x: op(x), torch.rand(4, 3))
    x = torch.rand(2, 3)
    assert torch.equal(mod(x), x + (make(x) + 1))
    assert torch.equal(tracepack.script(Filling(make))(x), x + (make(x) + 1))
