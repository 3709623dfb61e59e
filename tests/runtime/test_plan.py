"""The generated function: what it costs per call can be read off its source."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import tracepack
from tests.models import MyCell
from tracepack.ops.graph.traverse import bodies
from tracepack.ops.runtime.checks import input_check


def test_ten_ops_become_one_flat_function():
    ops = [tracepack.script(nn.Sequential(nn.Linear(4, 4), nn.Tanh()), name=f"op{i}") for i in range(10)]

    def chain(x):
        for op in ops:
            x = op(x)
        return x

    x = torch.rand(3, 4)
    mod = tracepack.trace(chain, x)
    lines = mod._runner.plan.source.splitlines()
    assert len(lines) == 1 + 20 + 1  # the head, ten products and ten activations, the return
    assert torch.equal(mod(x), chain(x))


def test_the_fast_function_checks_nothing_that_the_input_signature_decides():
    op, x = tracepack.script(MyCell()), torch.rand(3, 4)

    def process(x):
        if x.shape[0] > 1:
            return op(x, x)
        return x

    mod = tracepack.trace(process, x)
    checked, fast = mod._runner.plan.checked.source, mod._runner.plan.source
    assert "if " in checked
    assert "if " not in fast
    assert len(fast.splitlines()) < len(checked.splitlines())


def test_what_data_decides_is_checked_on_every_run():
    class Pairs(nn.Module):
        def forward(self, x):
            return x.reshape(-1, 2).sum(1)

    op = tracepack.script(Pairs(), example=torch.rand(4))
    mod = tracepack.trace(lambda x: op(x[x > 0]), torch.tensor([1.0, 2.0, -1.0, 3.0, 4.0]))
    good, bad = torch.tensor([1.0, -1.0, 2.0, 3.0, 5.0]), torch.tensor([1.0, -1.0, -2.0, 3.0, 5.0])
    for _ in range(2):
        assert torch.equal(mod(good), torch.tensor([3.0, 8.0]))
        try:
            mod(bad)  # three positive numbers do not make pairs
        except tracepack.TracepackError as error:
            message = str(error)
        assert "Pairs" in message


def test_an_activation_writes_over_its_input_only_where_nothing_else_reads_it():
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x):
            y = self.linear(x)
            z = torch.tanh(y)
            return z, y, torch.tanh(self.linear(x) + 1)

    module, x = Both(), torch.rand(3, 4)
    op = tracepack.script(module)
    mod = tracepack.trace(lambda x: op(x), x)
    for _ in range(2):
        assert all(torch.equal(a, b) for a, b in zip(mod(x), module(x), strict=True))
    names = [key for key, value in mod._runner.plan.fast.__globals__.items() if value is torch.tanh_]
    assert sum(mod._runner.plan.source.count(f"{name}(") for name in names) == 1


def test_an_input_is_never_written_over():
    class InputFirst(nn.Module):
        def forward(self, x):
            return torch.tanh(x), x.relu()

    module, x = InputFirst(), torch.randn(3, 4)
    before = x.clone()
    op = tracepack.script(module)
    mod = tracepack.trace(lambda x: op(x), x)
    assert all(torch.equal(a, b) for a, b in zip(mod(x), module(x), strict=True))
    assert torch.equal(x, before)


def test_values_are_freed_after_their_last_use():
    mod = tracepack.trace(lambda x: ((x + 1) * 2).sum() + 3, torch.rand(4))
    assert mod._runner.plan.source.count("; del ") == 2  # what the last line reads goes with the frame


def test_what_a_check_has_passed_passes_nothing_else():
    class Pairs(nn.Module):
        def forward(self, x, y):
            return x.reshape(-1, 2) + y.reshape(-1, 2)

    op = tracepack.script(Pairs(), example=(torch.rand(4), torch.rand(4)))
    mod = tracepack.trace(lambda x, y: op(x, y), torch.rand(4), torch.rand(4))
    check = input_check(next(iter(bodies(mod.graph))))
    right, bad = torch.rand(6), [torch.rand(5), torch.rand(2, 3), torch.rand(6).double(), torch.rand(6).to_sparse(), 6]
    for _ in range(3):
        check(right, right)
        check(torch.rand(8), torch.rand(8))
        for each in bad:
            for given in ((each, each), (right, each), (each, right)):
                with pytest.raises(tracepack.SignatureError, match=r"op 'Pairs'"):
                    check(*given)
        with pytest.raises(tracepack.SignatureError, match="must equal|do not satisfy"):
            check(right, torch.rand(8))
