"""Loops of ScriptFunctions whose end data decides: nodes of the graph, which need no trust."""

from __future__ import annotations

import io

import pytest
import torch

import tracepack

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning")


def times(x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
    y = x
    for _ in range(int(n)):
        y = y * 2 + 1
    return y


def until(x: torch.Tensor, least: torch.Tensor) -> torch.Tensor:
    y = x
    while bool(y.sum() < least):
        y = y * 2
    return y


def rows(x: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
    s = start
    for i in range(x.size(0)):
        s = s * 0.5 + x[i].sum()
    return s


CASES = {
    times: [(torch.ones(3), torch.tensor(3)), (torch.ones(4), torch.tensor(5)), (torch.ones(4), torch.tensor(0))],
    until: [
        (torch.ones(3), torch.tensor(50.0)),
        (torch.rand(2) + 0.1, torch.tensor(9.0)),
        (torch.ones(2) * 99, torch.tensor(3.0)),
    ],
    rows: [
        (torch.rand(3, 4), torch.tensor(0.0)),
        (torch.rand(5, 4), torch.tensor(1.0)),
        (torch.rand(1, 4), torch.tensor(2.0)),
    ],
}


@pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)
def test_it_goes_on_as_long_as_the_data_of_the_run_say(function):
    example, *others = CASES[function]
    op, file = tracepack.script(torch.jit.script(function)), io.BytesIO()
    tracepack.trace(lambda x, y: op(x, y), *example).save(file)
    loaded = tracepack.load(file.getvalue())
    for given in (example, *others):
        assert torch.equal(loaded(*given), function(*given))


def test_a_loop_that_would_never_end_at_another_size_does_not_hang_the_trace():
    """Sizes 0 and 1 are tried while a model is lowered; here the sum of nothing never grows."""
    op = tracepack.script(torch.jit.script(until))
    mod = tracepack.trace(lambda x, y: op(x, y), torch.ones(3), torch.tensor(50.0))
    with pytest.raises(tracepack.SignatureError):
        mod(torch.ones(0), torch.tensor(50.0))


def test_what_cannot_be_converted_stays_torchscript_and_right():
    def breaks(x: torch.Tensor) -> torch.Tensor:
        y = x
        for _ in range(10):
            y = y * 2
            if bool(y.sum() > 50):
                break
        return y

    op, file = tracepack.script(torch.jit.script(breaks)), io.BytesIO()
    with pytest.warns(tracepack.OpaqueOpWarning):
        tracepack.trace(lambda x: op(x), torch.ones(3)).save(file)
    loaded = tracepack.load(file.getvalue(), trust=True)
    for x in (torch.ones(3), torch.ones(5) * 0.001, torch.ones(2) * 1000):
        assert torch.equal(loaded(x), breaks(x))
