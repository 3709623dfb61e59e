"""Pipelines with state of functions that are recorded several times: a trace leaves it where it began."""

from __future__ import annotations

import warnings

import pytest
import torch

import tracepack


class Counting(torch.nn.Module):
    """Doubles what it is given from its sixth call on."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        return torch.where(self.calls > 5, x * 2, x)


def _while_rows(op):
    def process(x):
        k = 0
        while k < x.shape[0]:
            x = op(x)
            k += 1
        return x

    return process


def _if_large(op):
    def process(x):
        if x.sum() > 3:
            x = op(x) + 1
        return op(x)

    return process


def _comprehension(op):
    return lambda x: [op(row).sum() for row in x if row.sum() > -9]


@pytest.mark.parametrize("make", [_while_rows, _if_large, _comprehension])
def test_a_trace_leaves_the_state_of_a_pipeline_where_it_began(make) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mod = tracepack.trace(make(tracepack.script(Counting())), torch.ones(2, 3))
    assert mod.state() == {"Counting.calls": torch.zeros(())}
    plain = make(Counting())
    for x in (torch.ones(2, 3), torch.ones(2, 3) * 2, torch.ones(3, 3), -torch.ones(2, 3), torch.ones(2, 3)):
        with torch.no_grad():
            torch.testing.assert_close(mod(x), plain(x))


def test_a_trace_leaves_generators_where_they_began() -> None:
    def process(x):
        with tracepack.drawing(generator):
            noise = torch.rand(3)
        k = 0
        while k < x.shape[0]:
            x = x + noise
            k += 1
        return x

    generator = torch.Generator().manual_seed(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mod = tracepack.trace(process, torch.ones(2, 3))
    generator.manual_seed(3)
    for x in (torch.ones(2, 3), torch.zeros(4, 3)):
        torch.testing.assert_close(mod(x), process(x))
