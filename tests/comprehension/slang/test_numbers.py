# ruff: noqa: E501 - texts of comprehensions read better on one line
"""Where emitters could disagree: NaN, integers that wrap, half precision, rounding between types."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

pytest.importorskip("slangpy", reason="the extra 'slang' is not installed")
from tests.comprehension.slang.running import run


def test_nan_wins_in_max_and_min_and_fmax_ignores_it(device):
    text = "def f(float(N,K) A) -> (X, Y, Z) { X(n) max=! A(n,k)\n Y(n) min=! A(n,k)\n Z(n,k) = max(A(n,k), 0.5) }"
    nan = float("nan")
    a = torch.randn(3, 41)
    a[0, 0] = a[1, 40] = a[2, 17] = nan
    a[2, 3] = float("inf")
    x, y, z = run(text, a, device=device)
    assert x.isnan().all()
    assert y.isnan().all()
    assert torch.equal(z.isnan(), a.isnan())
    b, c = torch.tensor([nan, 1.0, nan, 2.0] * 5), torch.tensor([1.0, nan, nan, 3.0] * 5)
    text = "def f(float(N) A, float(N) B) -> (X, Y) { X(i) = fmax(A(i), B(i))\n Y(i) = fmin(A(i), B(i)) }"
    x, y = run(text, b, c, device=device)
    torch.testing.assert_close(x, torch.fmax(b, c), equal_nan=True, rtol=0, atol=0)
    torch.testing.assert_close(y, torch.fmin(b, c), equal_nan=True, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8"])
def test_integers_floor_and_wrap(dtype, device):
    kind = getattr(torch, dtype)
    low, high = torch.iinfo(kind).min, torch.iinfo(kind).max
    some = [v for v in (low, low + 1, -7, -3, -1, 0, 1, 2, 3, 7, high - 1, high) if v >= low]
    pairs = torch.tensor(list(itertools.product(some, some)), dtype=torch.int64).to(kind)
    a, b = pairs[:, 0].contiguous(), pairs[:, 1].contiguous()
    text = f"def f({dtype}(N) A, {dtype}(N) B) -> (Q, R, S, L, H, P) {{ Q(i) = A(i) / B(i)\n R(i) = A(i) % B(i)\n S(i) = A(i) * B(i) - A(i)\n L(i) = min(A(i), B(i))\n H(i) = max(A(i), B(i))\n P(i) = abs(A(i)) + B(i) }}"
    q, r, s, least, most, p = run(text, a, b, device=device)
    x, y = a.tolist(), b.tolist()

    def wrap(v: int) -> int:
        return (v - low) % (high - low + 1) + low

    assert q.tolist() == [wrap(m // n) if n else 0 for m, n in zip(x, y, strict=True)]
    assert r.tolist() == [m % n if n else 0 for m, n in zip(x, y, strict=True)]
    assert s.tolist() == [wrap(m * n - m) for m, n in zip(x, y, strict=True)]
    assert least.tolist() == [min(m, n) for m, n in zip(x, y, strict=True)]
    assert most.tolist() == [max(m, n) for m, n in zip(x, y, strict=True)]
    assert p.tolist() == [wrap(abs(m) + n) for m, n in zip(x, y, strict=True)]


def test_every_half_is_read_and_rounded_as_torch_does(device):
    halves = torch.arange(-(1 << 15), 1 << 15).to(torch.int16).view(torch.float16)
    (same,) = run("def f(float16(N) A) -> (B) { B(i) = A(i) }", halves, device=device)
    assert torch.equal(same.isnan(), halves.isnan())
    kept = ~halves.isnan()
    assert torch.equal(same[kept].view(torch.int16), halves[kept].view(torch.int16))
    floats = torch.cat([torch.randn(4096) * 10.0**e for e in range(-9, 6)])
    edges = torch.tensor(
        [65504.0, 65519.9, 65520.0, 2.0**-24, 2.0**-25, 1.5 * 2.0**-24, 1.5 * 2.0**-25, 0.0, math.inf, -math.inf]
    )
    floats = torch.cat([floats, edges, -edges])
    text = "def f(float(N) A) -> (B, C) { B(i) = float16(A(i))\n C(i) = float(float16(A(i))) * 2.0 }"
    b, c = run(text, floats, device=device)
    assert torch.equal(b, floats.half())
    assert torch.equal(c, floats.half().float() * 2)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_an_integer_is_rounded_to_a_float(dtype, device):
    low, high = torch.iinfo(getattr(torch, dtype)).min, torch.iinfo(getattr(torch, dtype)).max
    edges = [low, high, 0, -1, 16777215, 16777216, 16777217, -16777217, 16777219, 33554434, 33554435]
    some = torch.cat([torch.randint(low, high, (512,)), torch.tensor(edges)]).to(getattr(torch, dtype))
    (found,) = run(f"def f({dtype}(N) A) -> (B) {{ B(i) = double(float(A(i))) }}", some, device=device)
    assert torch.equal(found, some.float().double())


def test_a_double_is_rounded_to_a_float_and_back(device):
    some = torch.randn(512, dtype=torch.float64)
    edges = [1 + 2.0**-24, 1 + 3 * 2.0**-24, 3.4028235677973366e38, 3.4028235e38, 1e300, math.inf, math.nan]
    edges = torch.tensor(edges, dtype=torch.float64)
    doubles = torch.cat([some, some * 1e30, some * 1e-30, edges, -edges])
    (found,) = run("def f(double(N) A) -> (B) { B(i) = double(float(A(i))) }", doubles, device=device)
    torch.testing.assert_close(found, doubles.float().double(), rtol=0, atol=0, equal_nan=True)


def test_floats_modulo_and_special_values(device):
    text = "def f(float(N) A, float s) -> (M, E, D) { M(i) = A(i) % 0.75\n E(i) = exp(A(i))\n D(i) = A(i) / s }"
    inf = float("inf")
    a = torch.tensor([-2.0, -0.5, 0.0, 0.5, 2.0, inf, -inf, 88.0, 89.0, -87.0, float("nan")])
    m, e, d = run(text, a, torch.tensor(3.0), device=device)
    torch.testing.assert_close(m, a % 0.75, equal_nan=True)
    torch.testing.assert_close(e, a.double().exp().float(), rtol=2e-5, atol=1e-37, equal_nan=True)
    torch.testing.assert_close(d, a / 3.0, rtol=1e-6, atol=0, equal_nan=True)


def test_constants_are_exact(device):
    text = "def f(double(N) A) -> (B, C) { B(i) = A(i) + 0.1\n C(i) = float(0.1) + (i == 1 ? 1.17e-38 : 16777217.0) where i in 0:N }"
    b, c = run(text, torch.zeros(3, dtype=torch.float64), device=device)
    assert b.tolist() == [0.1] * 3
    assert c.tolist() == (torch.tensor(0.1) + torch.tensor([16777217.0, 1.17e-38, 16777217.0])).tolist()


def test_literals_among_doubles_are_doubles(device):
    text = "def f(double(N) A, int32(N) K) -> (B, C, D) { B(i) = A(i) * (-1.78)\n C(i) = (1.5 + 1.78 * 1.78) - A(i)\n D(i) = A(i) * (0.1 * K(i)) }"
    a, k = torch.rand(41, dtype=torch.float64), torch.arange(1, 42, dtype=torch.int32)
    found = run(text, a, k, device=device)
    for one, wanted in zip(found, (a * -1.78, (1.5 + 1.78 * 1.78) - a, a * (0.1 * k.double())), strict=True):
        torch.testing.assert_close(one, wanted, rtol=1e-15, atol=0)
