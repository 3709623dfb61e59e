"""The gradient by way of an extreme that cancels is not computed, and only where it cancels."""

import pytest
import torch

from tracepack.ops.comprehension import define
from tracepack.ops.comprehension.expr import errors
from tracepack.ops.comprehension.language.parser import parse
from tracepack.ops.comprehension.language.typecheck import check
from tracepack.ops.comprehension.program.backward import derive
from tracepack.ops.comprehension.program.invariance import independent_of
from tracepack.ops.comprehension.program.specialise import specialise

SOFTMAX = "top(n) max=! I(n,d) e(n,d) = exp(I(n,d) - top(n)) s(n) +=! e(n,d) O(n,d) = e(n,d) / s(n)"
CANCELS = {
    "softmax": (SOFTMAX, lambda x: x.softmax(1)),
    "softmax of one statement": (
        "top(n) max=! I(n,d) s(n) +=! exp(I(n,d) - top(n)) O(n,d) = exp(I(n,d) - top(n)) / s(n)",
        lambda x: x.softmax(1)),
    "log softmax": (
        "top(n) max=! I(n,d) s(n) +=! exp(I(n,d) - top(n)) O(n,d) = I(n,d) - top(n) - log(s(n))",
        lambda x: x.log_softmax(1)),
    "log sum exp": (
        "top(n) max=! I(n,d) s(n) +=! exp(I(n,d) - top(n)) O(n) = top(n) + log(s(n))", lambda x: x.logsumexp(1)),
    "softmin": (
        "low(n) min=! I(n,d) e(n,d) = exp(low(n) - I(n,d)) s(n) +=! e(n,d) O(n,d) = e(n,d) / s(n)",
        lambda x: (-x).softmax(1)),
    "with a temperature": (
        "top(n) max=! I(n,d) e(n,d) = exp((I(n,d) - top(n)) * 0.5) s(n) +=! e(n,d) O(n,d) = e(n,d) / s(n)",
        lambda x: (x / 2).softmax(1)),
    "of columns": (
        "top(d) max=! I(n,d) e(n,d) = exp(I(n,d) - top(d)) s(d) +=! e(n,d) O(n,d) = e(n,d) / s(d)",
        lambda x: x.softmax(0)),
    "norm of exponentials": (
        "top(n) max=! I(n,d) e(n,d) = exp(I(n,d) - top(n)) s(n) +=! e(n,d) * e(n,d) O(n,d) = e(n,d) * rsqrt(s(n))",
        lambda x: x.exp() / x.exp().square().sum(1, keepdim=True).sqrt()),
}  # fmt: skip
STAYS = {
    "shifted": ("top(n) max=! I(n,d) O(n,d) = I(n,d) - top(n)", lambda x: x - x.amax(1, keepdim=True)),
    "scaled": ("top(n) max=! I(n,d) O(n,d) = exp(I(n,d) - top(n))", lambda x: (x - x.amax(1, keepdim=True)).exp()),
    "the maximum too": (SOFTMAX + " O(n,d) = O(n,d) * top(n)", lambda x: x.softmax(1) * x.amax(1, keepdim=True)),
    "twice": (
        "top(n) max=! I(n,d) O(n,d) = exp(I(n,d) - top(n)) / exp(top(n) - I(n,d))",
        lambda x: (2 * (x - x.amax(1, keepdim=True))).exp()),
    "of another row": (
        "top(n) max=! I(n,d) O(n,d) = exp(I(n,d) - top(n)) / exp(I(n,d) - top(N - 1 - n))",
        lambda x: (x.amax(1).flip(0) - x.amax(1)).exp()[:, None].expand_as(x)),
    "another sum": (
        "top(n) max=! I(n,d) e(n,d) = exp(I(n,d) - top(n)) s(d) +=! e(n,d) O(n,d) = e(n,d) / s(d)",
        lambda x: (e := (x - x.amax(1, keepdim=True)).exp()) / e.sum(0)),
    "under a condition": (
        "top(n) max=! I(n,d) O(n,d) = top(n) > 0.0 ? I(n,d) - top(n) + top(n) : 0.0 where d in 0:D",
        lambda x: torch.where(x.amax(1, keepdim=True) > 0, x, 0.0)),
    "a sum of what is shifted": (
        "top(n) max=! I(n,d) s(n) +=! I(n,d) - top(n) O(n) = s(n) + top(n)",
        lambda x: (x - x.amax(1, keepdim=True)).sum(1) + x.amax(1)),
}  # fmt: skip


def program(body):
    return specialise(check(parse(f"def f(double(N,D) I) -> (O) {{ {body} }}")[0]), [(5, 7)])


@pytest.mark.parametrize("case", [*CANCELS, *STAYS])
def test_the_gradient_is_torchs(case):
    body, expected = {**CANCELS, **STAYS}[case]
    layer = define(f"def f(double(N,D) I) -> (O) {{ {body} }}")
    x = torch.randn(5, 7, dtype=torch.double, requires_grad=True)
    seed = torch.randn_like(expected(x))
    first = torch.autograd.grad(layer(x, options="torch"), x, seed, create_graph=True)[0]
    reference = torch.autograd.grad(expected(x), x, seed, create_graph=True)[0]
    torch.testing.assert_close(first, reference)
    if first.requires_grad and reference.requires_grad:
        found, again = (torch.autograd.grad(g.square().sum(), x, materialize_grads=True) for g in (first, reference))
        torch.testing.assert_close(found, again)


@pytest.mark.parametrize("case", CANCELS)
def test_what_cancels_is_left_out(case):
    p = program(CANCELS[case][0])
    assert independent_of(p, "low" if case == "softmin" else "top")
    backward = derive(p, frozenset("I")).program
    assert not any(n.op in ("min", "max") for n in backward.nests)


@pytest.mark.parametrize("case", STAYS)
def test_what_does_not_cancel_stays(case):
    p = program(STAYS[case][0])
    assert not independent_of(p, "top")


def test_an_output_is_never_left_out():
    layer = define(f"def f(double(N,D) I) -> (O, top) {{ {SOFTMAX} }}")
    x = torch.randn(5, 7, dtype=torch.double, requires_grad=True)
    found = torch.autograd.grad(layer(x, options="torch")[1].sum(), x)
    torch.testing.assert_close(found, torch.autograd.grad(x.amax(1).sum(), x))
    with pytest.raises(errors.ComprehensionError):
        define(f"def f(double(N,D) I) -> (O, nothing) {{ {SOFTMAX} }}")
