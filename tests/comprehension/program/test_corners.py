"""Gradients at corners, ties, infinities and NaN are those of autograd, on torch's operators and in compiled code."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from tracepack.comprehension import define

VALUES = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, 0.1, -0.1, 0.7, 6.1, 1e30, math.inf, -math.inf, math.nan]
FUNCTIONS: dict[str, Callable[..., torch.Tensor]] = {
    "pow(A(i), B(i))": torch.pow,
    "pow(A(i), 0.0) * B(i)": lambda a, b: torch.pow(a, 0.0) * b,
    "pow(0.0, A(i)) + B(i)": lambda a, b: torch.pow(0.0, a) + b,
    "pow(A(i), 2.0) + B(i)": lambda a, b: torch.pow(a, 2.0) + b,
    "atan2(A(i), B(i))": torch.atan2,
    "hypot(A(i), B(i))": torch.hypot,
    "copysign(A(i), B(i))": torch.copysign,
    "fmin(A(i), B(i))": torch.fmin,
    "fmax(A(i), B(i))": torch.fmax,
    "min(A(i), B(i))": torch.minimum,
    "max(A(i), B(i))": torch.maximum,
    "A(i) % B(i)": torch.remainder,
    "fmod(A(i), B(i))": torch.fmod,
    "A(i) / B(i)": torch.div,
}


@pytest.mark.parametrize("options", ["torch", "default"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("text", FUNCTIONS)
def test_gradients_at_corners_are_those_of_torch(text: str, dtype: torch.dtype, options: str) -> None:
    kind = "float" if dtype is torch.float32 else "double"
    layer = define(f"def f({kind}(N) A, {kind}(N) B) -> (O) {{ O(i) = {text} }}")
    values = torch.tensor(VALUES, dtype=dtype)
    inputs = [each.flatten().requires_grad_() for each in torch.meshgrid(values, values, indexing="ij")]
    wanted, got = FUNCTIONS[text](*inputs), layer(*inputs, options=options)
    torch.testing.assert_close(got, wanted, equal_nan=True)
    gradients = torch.autograd.grad(got.sum(), inputs, allow_unused=True, materialize_grads=True)
    of_torch = torch.autograd.grad(wanted.sum(), inputs, allow_unused=True, materialize_grads=True)
    for one, other in zip(gradients, of_torch, strict=True):
        torch.testing.assert_close(one, other, equal_nan=True)
