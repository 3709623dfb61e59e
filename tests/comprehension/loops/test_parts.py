"""Nests that go over a part of what another one wrote: fewer iterations are no reason to drop or to add any."""

from __future__ import annotations

import pytest
import torch

from tracepack.ops.comprehension import Options, define

# Programs of inputs A, with what they compute by torch's operators; `k` is the index of the part.
GRADIENTS = {
    "products from both ends": (
        "def f(double(N) A) -> (O) { O(k) = A(k) * A(A.0 - 11 - k) where k in 0:300 }",
        lambda a, k: a[k] * a[990 - k],
    ),
    "their sum": (
        "def f(double(N) A) -> (O) { O +=! A(k) * A(k) + A(A.0 - 11 - k) * 3.0 where k in 0:300 }",
        lambda a, k: (a[k] * a[k] + a[990 - k] * 3).sum(),
    ),
    "one or the other": (
        "def f(double(N) A) -> (O) { O(k) = (k % 2 == 1) ? A(k) : A(A.0 - 300 + k) where k in 0:300 }",
        lambda a, k: torch.where(k % 2 == 1, a[k], a[701 + k]),
    ),
    "another step": (
        "def f(double(N) A) -> (O) { O(k) = A(k) + A(2 * k) * 3.0 where k in 0:300 }",
        lambda a, k: a[k] + a[2 * k] * 3,
    ),
}
OPTIONS = [None, "naive", "torch", (Options(check=False), Options(check=False))]


@pytest.mark.parametrize("options", OPTIONS, ids=["default", "naive", "torch", "unchecked"])
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_of_two_accesses_to_one_tensor(name, options):
    text, reference = GRADIENTS[name]
    a, k = torch.rand(1001, dtype=torch.float64, requires_grad=True), torch.arange(300)
    got, wanted = define(text)(a, options=options), reference(a, k)
    torch.testing.assert_close(got, wanted)
    torch.testing.assert_close(torch.autograd.grad(got.sum(), a)[0], torch.autograd.grad(wanted.sum(), a)[0])


PARTS = {
    "a sum": ("B(i) +=! A(i,k)  C(i) = B(i) * 2.0 where i in 0:5", lambda a: a.sum(1)[:5] * 2),
    "elements": ("B(i,k) = A(i,k) * 2.0  C(i) +=! B(i,k) where i in 0:5, k in 0:7", lambda a: (a[:5] * 2).sum(1)),
    "both axes": (
        "B(i,k) = A(i,k) * 2.0  C(i,k) = exp(B(i,k)) where i in 0:5, k in 0:3",
        lambda a: (a[:5, :3] * 2).exp(),
    ),
    "rows": (
        "B(i) max=! A(i,k)  C(i,k) = A(i,k) - B(i) where i in 0:5, k in 0:7",
        lambda a: a[:5] - a.amax(1)[:5, None],
    ),
    "softmax": (
        "M(i) max=! A(i,k)  E(i,k) = exp(A(i,k) - M(i))  S(i) +=! E(i,k)  "
        "C(i,k) = E(i,k) / S(i) where i in 0:6, k in 0:4",
        lambda a: torch.softmax(a, 1)[:6, :4],
    ),
}


@pytest.mark.parametrize("options", OPTIONS[:3], ids=["default", "naive", "torch"])
@pytest.mark.parametrize("rows", [10, 4001])
@pytest.mark.parametrize("name", PARTS)
def test_a_part_of_a_temporary(name, rows, options):
    """A reader of fewer rows than its temporary has wrote beyond its end, since it took over the loop of all rows."""
    text, reference = PARTS[name]
    a = torch.rand(rows, 7, dtype=torch.float64)
    got = define(f"def f(double(N,K) A) -> (C) {{ {text} }}")(a, options=options)
    torch.testing.assert_close(got, reference(a))
