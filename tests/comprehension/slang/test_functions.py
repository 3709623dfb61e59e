# ruff: noqa: E501 - texts of comprehensions read better on one line
"""Every built-in function on its domain and at its edges, against torch."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

pytest.importorskip("slangpy", reason="the extra 'slang' is not installed")
from tests.comprehension.slang.running import TYPES, program_of, run, simple
from tracepack.ops.comprehension.expr.functions import BUILTINS
from tracepack.ops.comprehension.slang.emitter import SlangEmitter
from tracepack.ops.graph.errors import DeviceError

# A function of C's that torch has under another name, or not at all, as torch computes it.
REFERENCES = {
    "exp10": lambda a: torch.pow(10.0, a),
    "cbrt": lambda a: torch.copysign(a.abs().double().pow(1 / 3), a.double()).to(a.dtype),
    "round": lambda a: torch.trunc(a + torch.copysign(torch.full_like(a, 0.5), a)),
    "rint": torch.round,
    "fabs": torch.abs,
    "fdim": lambda a, b: torch.where(a <= b, torch.zeros_like(a), a - b),
    "fma": lambda a, b, c: a * b + c,
}


DOMAINS = {"asin": 1.0, "acos": 1.0, "atanh": 0.95, "lgamma": 0.0, "acosh": 0.0, "log": 0.0, "sqrt": 0.0, "pow": 0.0}
POSITIVE = {"acosh", "log", "log2", "log10", "sqrt", "rsqrt", "pow"}


@pytest.mark.parametrize("dtype", ["float", "double"])
def test_functions(dtype, device):
    """Every built-in at once, on its domain: 1e-5 of floats, and 1e-12 of doubles, where Vulkan has some only."""
    names = [n for n in BUILTINS if device == "cpu" or dtype == "float" or n in _VULKANS_DOUBLES]
    wide = torch.cat([torch.linspace(-4, 4, 801), torch.tensor([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 7.5, 20.0, 1e-6])])
    wide, second = wide.to(TYPES[dtype]), torch.linspace(-3, 3.3, 810).to(TYPES[dtype])
    tolerance = 1e-5 if dtype == "float" else 1e-12
    inputs, lines, expected = {}, [], []
    for n in names:
        x = wide.abs() + (1.0 if n == "acosh" else 1e-3) if n in POSITIVE else wide
        x = x.clamp(-DOMAINS[n], DOMAINS[n]) if DOMAINS.get(n) else x
        x = x.clamp(min=-0.9) if n == "log1p" else x
        inputs[n] = x
        args = [x, second, second.flip(0)][: BUILTINS[n].arity]
        expected.append(REFERENCES.get(n, getattr(torch, BUILTINS[n].torch, None))(*args))
        used = [f"A{n}(i)", "S(i)", f"S({len(second) - 1} - i)"][: BUILTINS[n].arity]
        lines.append(f"O{n}(i) = {n}({', '.join(used)}) where i in 0:N")
    params = ", ".join(f"{dtype}(N) A{n}" for n in names)
    text = f"def f({params}, {dtype}(N) S) -> ({', '.join('O' + n for n in names)}) {{ " + "\n".join(lines) + " }"
    found = run(text, *inputs.values(), second, device=device)
    wrong = {
        name: float(((a - b).abs() / (1 + b.abs())).nan_to_num(0).max())
        for name, a, b in zip(names, found, expected, strict=True)
        if not torch.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)
    }
    assert wrong == {}


_VULKANS_DOUBLES = {
    "sqrt",
    "rsqrt",
    "floor",
    "ceil",
    "trunc",
    "round",
    "rint",
    "fabs",
    "fmax",
    "fmin",
    "fdim",
    "fma",
    "hypot",
}


def test_functions_at_their_edges(device):
    """Zeros, infinities, NaN and what a function is not of: Vulkan leaves much of it undefined, so it is written out."""
    some = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        2.0,
        -2.0,
        0.5,
        -0.5,
        3.0,
        1e-3,
        30.0,
        -30.0,
        300.0,
        -300.0,
        math.inf,
        -math.inf,
        math.nan,
    ]
    pairs = torch.tensor(list(itertools.product(some, some)))
    a, b = pairs[:, 0].contiguous(), pairs[:, 1].contiguous()
    names = [n for n in BUILTINS if n not in ("fma", "lgamma")]
    lines = [f"O{n}(i) = {n}({', '.join(['A(i)', 'B(i)'][: BUILTINS[n].arity])})" for n in names]
    lines += ["Odivide(i) = A(i) / B(i)", "Omodulo(i) = A(i) % B(i)"]
    returns = ", ".join(f"O{n}" for n in [*names, "divide", "modulo"])
    found = run(f"def f(float(N) A, float(N) B) -> ({returns}) {{ " + "\n".join(lines) + " }", a, b, device=device)
    expected = [REFERENCES.get(n, getattr(torch, BUILTINS[n].torch, None))(*[a, b][: BUILTINS[n].arity]) for n in names]
    expected += [a / b, torch.remainder(a, b)]
    wrong = {
        name: [
            (float(x), float(y), float(p), float(q)) for x, y, p, q in zip(a, b, f, e, strict=True) if not close(p, q)
        ]
        for name, f, e in zip([*names, "divide", "modulo"], found, expected, strict=True)
    }
    assert {n: w[:5] for n, w in wrong.items() if w} == {}


def close(a: torch.Tensor, b: torch.Tensor) -> bool:
    return torch.allclose(a, b, rtol=2e-5, atol=2e-5, equal_nan=True)


def test_vulkan_says_which_function_it_lacks():
    p = program_of("def f(double(N) A) -> (B) { B(i) = exp(A(i)) }", torch.zeros(4, dtype=torch.float64))
    with pytest.raises(DeviceError, match="f: Vulkan has no function 'exp' of doubles"):
        SlangEmitter(p, simple(p), False, "vulkan")
