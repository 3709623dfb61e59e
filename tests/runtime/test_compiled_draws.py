"""A pipeline that draws random numbers goes on drawing where torch.compile compiles its caller."""

from __future__ import annotations

import pytest
import torch

import tracepack

GENERATOR = torch.Generator()


def drawing(x):
    with tracepack.drawing(GENERATOR):
        return x + torch.randn_like(x)


def given(x):
    return x + torch.rand(x.shape, generator=GENERATOR)


@pytest.mark.parametrize("first", ["plain", "compiled"])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("function", [drawing, given])
def test_each_run_draws_the_next_numbers(function, backend, first, reloaded) -> None:
    mod, x = reloaded(tracepack.trace(function, torch.zeros(2))), torch.zeros(2)
    plain = reloaded(tracepack.trace(function, torch.zeros(2)))
    if first == "plain":
        mod(x)
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: mod(x * 1) * 2, backend=backend)
    for pipeline in (mod, plain):
        pipeline.seed(3)
    wanted = [(plain(x) * 2).tolist() for _ in range(4)]
    assert [compiled(x).tolist() for _ in range(4)] == wanted
    assert wanted[0] != wanted[1]
    assert mod(x).tolist() == plain(x).tolist()
