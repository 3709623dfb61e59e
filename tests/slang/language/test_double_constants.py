"""Slang's functions of double: values and slopes in the precision of double, against formulas of torch."""

from __future__ import annotations

import math

import pytest
import torch

from tracepack.ops import slang

VALUES = {
    "asinh(x)": torch.asinh,
    "acosh(x + 1)": lambda x: torch.acosh(x + 1),
    "atanh(x)": torch.atanh,
    "log10(x)": torch.log10,
    "exp10(x)": lambda x: torch.exp(x * math.log(10.0)),
    "radians(x)": torch.deg2rad,
    "degrees(x)": torch.rad2deg,
    "sinpi(x)": lambda x: torch.sin(math.pi * x),
    "cospi(x)": lambda x: torch.cos(math.pi * x),
    "tanpi(x)": lambda x: torch.tan(math.pi * x),
    "exp2(x)": torch.exp2,
    "log2(x)": torch.log2,
}
WITHOUT_SLOPE = {"exp10(x)", "sinpi(x)", "cospi(x)", "tanpi(x)"}
X = torch.tensor([0.03, 0.2, 0.31, 0.77, 0.9], dtype=torch.float64)


@pytest.mark.parametrize("text", VALUES)
def test_functions_of_double_are_as_precise_as_double(text: str) -> None:
    head = "" if text in WITHOUT_SLOPE else "[Differentiable] "
    function = slang.load(f"{head}double f(double x) {{ return {text}; }}").f
    x, y = X.clone().requires_grad_(text not in WITHOUT_SLOPE), X.clone().requires_grad_()
    got, wanted = function(x), VALUES[text](y)
    torch.testing.assert_close(got, wanted, rtol=1e-13, atol=1e-14)
    if text not in WITHOUT_SLOPE:
        slope, of_torch = torch.autograd.grad(got.sum(), x), torch.autograd.grad(wanted.sum(), y)
        torch.testing.assert_close(slope, of_torch, rtol=1e-12, atol=1e-13)


def test_a_float_of_the_users_stays_what_it_is() -> None:
    module = slang.load("static const float PI = 3.14159265; double f(double x) { return x * PI; }")
    assert torch.equal(module.f(X), X * torch.tensor(math.pi, dtype=torch.float32).double())
