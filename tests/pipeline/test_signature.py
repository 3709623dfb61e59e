"""What a signature says: sizes that stay free, sizes that are guarded or fixed, and the text form."""

from __future__ import annotations

import pytest
import torch

import tracepack
from tests.pipeline.cases import same


def test_sizes_stay_free_and_arithmetic_on_them_is_recorded(reloaded):
    def process(x):
        n, m = x.shape
        out = torch.zeros(n * 2, m // 2)
        out[:n] = x[:, : m // 2]
        return out, n + x.size(-1), x.numel(), x.view(m, n).shape

    mod = tracepack.trace(process, torch.rand(3, 4))
    for pipeline in (mod, reloaded(mod)):
        for shape in ((3, 4), (5, 4), (2, 10), (1, 2), (0, 4)):
            x = torch.rand(shape)
            got, wanted = pipeline(x), process(x)
            same(got[:3], wanted[:3])
            assert tuple(got[3]) == tuple(wanted[3])


def test_a_branch_on_a_size_is_guarded_with_the_users_line(reloaded):
    def process(x):
        if x.shape[0] > 2:
            return x + 1
        return x.sum()

    mod = reloaded(tracepack.trace(process, torch.rand(3, 4)))
    same(mod(torch.ones(9, 4)), process(torch.ones(9, 4)))
    with pytest.raises(tracepack.GuardError) as caught:
        mod(torch.ones(2, 4))
    assert "test_signature.py" in str(caught.value)
    assert "in process: if x.shape[0] > 2:" in str(caught.value)
    assert "got False; expected True" in str(caught.value)


@pytest.mark.parametrize(
    "function",
    [lambda x: torch.stack(x.unbind(0)[::-1]), lambda x: [*x.unbind(0)]],
)
def test_a_size_that_python_reads_is_fixed_not_frozen(function, reloaded):
    mod = reloaded(tracepack.trace(function, torch.ones(3, 4)))
    same(mod(torch.full((3, 4), 2.0)), function(torch.full((3, 4), 2.0)))
    with pytest.raises((tracepack.SignatureError, tracepack.GuardError)):
        mod(torch.ones(5, 4))


def test_the_signature_and_the_text_form(cell):
    mod = tracepack.trace(lambda x, h: cell(x, h)[0].relu(), torch.rand(3, 4), torch.rand(3, 4))
    assert mod.signature == "(x: f32[N,4], h: f32[N,4]) -> f32[N,4]"
    assert str(mod.graph) == (
        "graph(%0: f32[N,4], %1: f32[N,4]):\n"
        "  %2: f32[N,4], %3: f32[N,4] = cell(%0, %1) @cpu\n"
        "  %4: f32[N,4] = torch.Tensor.relu(%3)\n"
        "  return %4"
    )
    assert mod.placement == {"cell": "cpu"}
    assert mod.input_names == ["x", "h"]


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: x * 2, "(x: f32[N,M]) -> f32[N,M]"),
        (lambda x: x[x > 2], "(x: f32[N,M]) -> f32[?]"),
        (lambda x: x.sum(0), "(x: f32[N,M]) -> f32[M]"),
    ],
)
def test_the_signature_claims_no_size_that_was_not_seen_to_hold(function, text):
    assert tracepack.trace(function, torch.arange(12.0).reshape(3, 4)).signature == text


def test_the_signature_knows_what_an_op_fixes():
    op = tracepack.script(torch.nn.Linear(4, 6))
    mod = tracepack.trace(lambda x: (op(x), op(x).relu()), torch.rand(3, 4))
    assert mod.signature == "(x: f32[N,4]) -> (f32[N,6], f32[N,6])"
