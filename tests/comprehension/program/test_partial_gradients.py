"""Gradients of tensors that are read at some of their places only, and the check of the first call on the others."""

import warnings

import pytest
import torch

from tracepack.ops.comprehension import ComprehensionWarning, define
from tracepack.ops.comprehension.program.backward import derive
from tracepack.ops.comprehension.run.first_call import check_first_call
from tracepack.ops.comprehension.torch.emitter import TorchEmitter

CASES = {
    # a definition's signature and body, its inputs' shapes, and the same in torch
    "a constant index beside another output": (
        "(double(N) A) -> (O, P) { O +=! A(0) P(m,i) = A(m) - O where m in 0:2, i in 0:2 }", [(6,)],
        lambda a: [a[0], (a[:2] - a[0])[:, None].expand(2, 2)]),
    "the first places of one dimension": (
        "(double(N) A) -> (P) { P(m,i) = A(m) where m in 0:2, i in 0:3 }", [(7,)],
        lambda a: [a[:2, None].expand(2, 3)]),
    "places in the middle": (
        "(double(N,D) A) -> (P) { P(m,d,i) = A(m + 3, d) where m in 0:2, i in 0:3 }", [(7, 2)],
        lambda a: [a[3:5, :, None].expand(2, 2, 3)]),
    "one row of a matrix": (
        "(double(N,D) A) -> (P) { P(i,d) = A(2,d) where i in 0:4 }", [(5, 3)],
        lambda a: [a[2].expand(4, 3)]),
    "a part of a convolution's kernel": (
        "(double(N,C,H) X, double(M,C,K) W) -> (O) { O(n,m,h) +=! X(n,c,h+k) * W(m,c,k) where k in 0:2, h in 0:5 }",
        [(2, 3, 9), (4, 3, 4)],
        lambda x, w: [torch.conv1d(x[:, :, :6], w[:, :, :2])]),
    "a part of what a convolution is written to": (
        "(double(N,C,H) X, double(N,M,T) Y) -> (W) { W(m,c,k) +=! X(n,c,t+k) * Y(n,m,t) where k in 0:3, t in 0:4 }",
        [(2, 3, 9), (2, 4, 7)],
        lambda x, y: [torch.einsum("nctk,nmt->mck", x.unfold(2, 3, 1)[:, :, :4], y[:, :, :4])]),
    "products of what a temporary holds": (
        "(double(N) A) -> (P) { O(m,j) = A(j) * A(j) where j in 0:3, m in 0:3 P(m) *=! fmax(O(k,k), O(k,m)) }", [(9,)],
        lambda a: [torch.maximum(a[:3, None] ** 2, a[None, :3] ** 2).prod(0)]),
    "a product over a part": (
        "(double(K,M,J) A) -> (O) { O(j,m,i) *=! log(1.0 + A(k,i+1,j) * A(k,i+1,j)) "
        "where i in 0:2, j in 0:1, k in 0:3, m in 0:4 }",
        [(8, 9, 7)],
        lambda a: [(a[:3, 1:3, :1] ** 2 + 1).log().prod(0).T[:, None].expand(1, 4, 2)]),
    "an extreme over a part": (
        "(double(L) A) -> (O) { O(j,m) min=! fmin(double(k), A(l)) where j in 0:1, k in 1:3, l in 1:5, m in 0:4 }",
        [(12,)],
        lambda a: [torch.minimum(torch.ones((), dtype=a.dtype), a[1:5]).min().expand(1, 4)]),
}  # fmt: skip


def inputs(case):
    torch.manual_seed(1)
    return [torch.rand(s, dtype=torch.double).requires_grad_() for s in CASES[case][1]]


def gradients(outputs, given):
    outputs = outputs if isinstance(outputs, list) else [outputs]
    seeds = [torch.linspace(0.5, 1.5, o.numel(), dtype=o.dtype).reshape(o.shape) for o in outputs]
    return torch.autograd.grad(outputs, given, seeds)


@pytest.mark.parametrize("options", ["torch", "naive", "default"])
@pytest.mark.parametrize("case", CASES)
def test_gradients_of_a_part(case, options):
    text, _, reference = CASES[case]
    given = inputs(case)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ComprehensionWarning)
        outputs = define(f"def f{text}")(*given, options=options)
        found = gradients(outputs, given)
    expected = reference(*given)
    torch.testing.assert_close(outputs if isinstance(outputs, list) else [outputs], expected, rtol=1e-13, atol=1e-13)
    torch.testing.assert_close(found, gradients(expected, given), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("place", [0, 2, -1])
@pytest.mark.parametrize("case", ["the first places of one dimension", "products of what a temporary holds"])
def test_the_check_sees_a_wrong_value_of_a_gradient_where_nothing_was_read(case, place):
    given = inputs(case)
    layer = define(f"def f{CASES[case][0]}")
    backward = derive(layer.plan(given).program, frozenset("A"))
    (gradient,) = torch.autograd.grad(layer(*given).sum(), given)
    known = {"A": given[0].detach(), "O": given[0].detach()[:3].square().expand(3, 3).contiguous()}
    ones = torch.ones(layer(*given).shape, dtype=torch.double)
    saved = [known[name] for name in backward.saved] + [ones]
    assert check_first_call(backward.program, False, saved, (), [gradient]) is None
    gradient[place] += 1.0
    with pytest.warns(ComprehensionWarning, match="the compiled kernel of 'f_backward' does not compute"):
        assert isinstance(check_first_call(backward.program, False, saved, (), [gradient]), TorchEmitter)


@pytest.mark.parametrize("options", ["torch", "naive", "default"])
def test_a_sum_of_no_values_of_a_temporary(options):
    """The check computes nothing of what is read over an empty size."""
    layer = define("def f(double(N) A) -> (S, P) { T(i) = A(i) * 2.0 S +=! T(i) P(m) *=! T(i) where m in 0:2 }")
    a = torch.empty(0, dtype=torch.double, requires_grad=True)
    s, p = layer(a, options=options)
    assert (s.item(), p.tolist()) == (0.0, [1.0, 1.0])
    assert torch.autograd.grad(s + p.sum(), a)[0].shape == (0,)
