"""Gradients of quotients by the quotients: what was divided is not kept where the results do for it."""

import pytest
import torch

from tracepack.ops.comprehension import Options, define

SOFTMAX = "top(n) max=! I(n,d) e(n,d) = exp(I(n,d) - top(n)) s(n) +=! e(n,d) "
REPLACED = {
    "softmax": (SOFTMAX + "O(n,d) = e(n,d) / s(n)", lambda x: x.softmax(1)),
    "of columns": (
        "e(n,d) = exp(I(n,d)) s(d) +=! e(n,d) O(n,d) = e(n,d) / s(d)", lambda x: x.softmax(0)),
    "over all": ("e(n,d) = exp(I(n,d)) s +=! e(n,d) O(n,d) = e(n,d) / s", lambda x: x.exp() / x.exp().sum()),
    "by something else": (
        "s(n) +=! I(n,d) * I(n,d) e(n,d) = exp(I(n,d)) O(n,d) = e(n,d) / s(n)",
        lambda x: x.exp() / x.square().sum(1, True)),
}  # fmt: skip
KEPT = {
    "an output": (SOFTMAX + "O(n,d) = e(n,d) / s(n) P(n,d) = e(n,d) * 2.0", lambda x: (x.softmax(1), _shifted(x) * 2)),
    "part of the result": (SOFTMAX + "O(n,d) = e(n,d) / s(n) O(n,d) = O(n,d) + e(n,d)",
                           lambda x: x.softmax(1) + _shifted(x)),
    "divided by another row": (
        SOFTMAX + "O(n,d) = e(n,d) / s(N-1-n)", lambda x: _shifted(x) / _shifted(x).sum(1, True).flip(0)),
    "by a norm": (
        "e(n,d) = exp(I(n,d)) s(n) +=! e(n,d) * e(n,d) r(n) = sqrt(s(n)) O(n,d) = e(n,d) / r(n)",
        lambda x: x.exp() / x.exp().square().sum(1, True).sqrt()),
    "in doubles": (
        SOFTMAX + "O(n,d) = double(e(n,d)) / s(n)", lambda x: _shifted(x).double() / _shifted(x).sum(1, True)),
}  # fmt: skip


def _shifted(x):
    return (x - x.amax(1, True)).exp()


def as_list(found):
    return list(found) if isinstance(found, (list, tuple)) else [found]


def layer_of(body):
    results = "(O, P)" if "P(n,d)" in body else "(O)"
    return define(f"def f(float(N,D) I) -> {results} {{ {body} }}")


@pytest.mark.parametrize("options", [Options("torch"), Options()], ids=lambda o: o.preset)
@pytest.mark.parametrize("case", [*REPLACED, *KEPT])
def test_gradients_are_torchs(case, options):
    body, expected = {**REPLACED, **KEPT}[case]
    x = torch.randn(9, 37, requires_grad=True)
    found, wanted = as_list(layer_of(body)(x, options=options)), as_list(expected(x))
    seeds = [torch.randn_like(t) for t in wanted]
    torch.testing.assert_close(found, wanted)
    exact = torch.autograd.grad(as_list(expected(x.double())), x, [s.double() for s in seeds])
    torch.testing.assert_close(torch.autograd.grad(found, x, seeds), exact, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("case", REPLACED)
def test_what_was_divided_is_not_kept(case):
    forward, backward = layer_of(REPLACED[case][0]).plan([torch.randn(9, 37)]).derived(frozenset({0}))
    assert "e" not in (*forward.outputs, *backward.saved)
    assert "O" in backward.saved


@pytest.mark.parametrize("case", KEPT)
def test_what_else_needs_it_keeps_it(case):
    _, backward = layer_of(KEPT[case][0]).plan([torch.randn(9, 37)]).derived(frozenset({0}))
    assert "e" in backward.saved


def test_the_backward_of_a_softmax_reads_two_tensors_twice():
    """As torch's own: a sum for each row, and the gradient."""
    _, backward = layer_of(REPLACED["softmax"][0]).plan([torch.randn(9, 37)]).derived(frozenset({0}))
    assert backward.program.inputs == ("O", "d_O")
    assert len(backward.program.nests) == 2


def test_extreme_values():
    """Rows of equal values, of one that outweighs all others, and of infinities."""
    x = torch.randn(6, 20)
    x[0], x[1, 3], x[2, 5], x[3] = 2.0, 200.0, float("-inf"), float("-inf")
    x[4, 1], x[5, 2] = float("inf"), float("nan")
    x.requires_grad_()
    out, expected, seed = layer_of(REPLACED["softmax"][0])(x), x.softmax(1), torch.randn(6, 20)
    torch.testing.assert_close(out, expected, equal_nan=True)
    found, wanted = (torch.autograd.grad(t, x, seed)[0] for t in (out, expected))
    torch.testing.assert_close(found, wanted, equal_nan=True, rtol=1e-5, atol=1e-6)
