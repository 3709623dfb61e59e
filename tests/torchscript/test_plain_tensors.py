"""Tensors of a ScriptModule that are neither parameters nor buffers: its op sees what is written into them."""

from __future__ import annotations

import io

import pytest
import torch

import tracepack

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning")


class Part(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.shift = torch.rand(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.shift


class Whole(Part):
    def __init__(self) -> None:
        super().__init__()
        self.part, self.scale = Part(), torch.full((4,), 2.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.part(x * self.scale) + self.shift


def test_writes_after_the_trace_are_seen() -> None:
    model = torch.jit.script(Whole())
    op = tracepack.script(model)
    mod, x = tracepack.trace(lambda x: op(x), torch.rand(2, 4)), torch.rand(3, 4)
    model.scale.fill_(3)
    model.part.shift.fill_(-2)
    model.shift.fill_(1)
    file = io.BytesIO()
    mod.save(file)
    for run in (op, mod, tracepack.load(file.getvalue()), model):
        assert torch.equal(run(x), x * 3 - 2 + 1)
