"""Gradients of scalars beside vectors, which Slang loses: for elements and whole tensors, on any data."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from tracepack.ops import slang

Formula = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

HELPERS = """import "slangpy";
[Differentiable] float3 product(float s, float3 v) { return s * v; }
[Differentiable] float3 quotient(float3 v, float s) { return v / s; }
[Differentiable] float3 sum(float3 v, float s) { return v + s; }
[Differentiable] float3 difference(float s, float3 v) { return s - v; }
"""
WHOLE = """
[Differentiable] void f(int i, IDiffTensor<float, 1> s, IDiffTensor<float3, 1> v, IWDiffTensor<float3, 1> y) {
    y[i] = %s;
}
"""


def compared(function: Formula, formula: Formula, s: torch.Tensor, v: torch.Tensor) -> None:
    weights = torch.randn(v.shape)
    leaves = [each.clone().requires_grad_() for each in (s, v)]
    found = torch.autograd.grad((function(*leaves) * weights).sum(), leaves)
    expected = torch.autograd.grad((formula(leaves[0][:, None], leaves[1]) * weights).sum(), leaves)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("body", "formula"),
    [
        ("product(s[i], v[i])", lambda s, v: s * v),
        ("quotient(sum(difference(s[i], product(s[i], v[i])), s[i]), s[i])", lambda s, v: (s - s * v + s) / s),
        ("s[i] * v[i] + product(s[i], v[i])", lambda s, v: 2 * s * v),
    ],
)
def test_in_functions_of_whole_tensors(body: str, formula: Formula) -> None:
    module = slang.load(HELPERS + WHOLE % body)

    def function(s: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        y = torch.empty(5, 3)
        module.f(slang.grid((5,)), s, v, y)
        return y

    compared(function, formula, torch.rand(5) + 0.5, torch.randn(5, 3))


def repeated(s: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    a = v
    for _ in range(4):
        a = s * a + v
    return a


LOOP = "float3 a = v; %s for (int i = 0; i < 4; i++) { a = s * a + v; } return a;"


@pytest.mark.parametrize(
    ("body", "formula"),
    [
        (LOOP % "[ForceUnroll]", repeated),
        (LOOP % "[MaxIters(4)]", repeated),
        (LOOP % "", repeated),
        ("return s > 1 ? s * v : v / s;", lambda s, v: torch.where(s > 1, s * v, v / s)),
        ("float3 r = v; if (s > 1) { r = s * v; } return r;", lambda s, v: torch.where(s > 1, s * v, v)),
        ("return v * 100 + (s * 0.1) * v;", lambda s, v: v * 100 + 0.1 * s * v),
        ("float3 r = s * v; return r.x > 0 ? r : 0 * v;", lambda s, v: torch.where((s * v)[:, :1] > 0, s * v, 0 * v)),
    ],
)
def test_in_functions_of_elements(body: str, formula: Formula) -> None:
    module = slang.load(f"[Differentiable] float3 f(float s, float3 v) {{ {body} }}")
    compared(module.f, formula, torch.rand(5) + 0.5, torch.randn(5, 3))


@pytest.mark.parametrize("zero_rows", [5, 1])
def test_after_a_first_call_that_does_not_tell(zero_rows: int) -> None:
    """Where the vector is zero, the gradient of the scalar is zero too."""
    module = slang.load(f"[Differentiable] float3 f(float s, float3 v) {{ return s * v; }} // {zero_rows}")
    s, v = torch.rand(5) + 0.5, torch.randn(5, 3)
    first = v.clone()
    first[:zero_rows] = 0
    compared(module.f, lambda s, v: s * v, s, first)
    compared(module.f, lambda s, v: s * v, s, v)
