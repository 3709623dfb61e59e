"""Operators on the CPU, where Slang's C++ has none, or those of C++ in place of Slang's."""

from __future__ import annotations

import pytest
import torch

from tracepack.ops import slang

SOURCE = """
[Differentiable] float2x3 negated(float2x3 m) { return -m; }
half2x2 in_half(half2x2 a, half2x2 b, half3 v, half3 w) { return (all(v < w) ? a * b : a / b) - (-a); }
bool2x2 both(bool2x2 a, bool2x2 b) { return a && !b; }
float nearest(float x) { return round(x); }

float widened(int8_t a, int8_t b) { return float(a + b) + float(-a) + float(a * b); }
int16_t halved(int16_t a, int16_t b) { return (a + b) / int16_t(2); }
bool wrapped(uint8_t a, uint8_t b) { return (a - b) > uint8_t(100) || a + b < a; }
int complement(uint8_t a) { uint8_t b = max(uint8_t(a << 1), uint8_t(3)); return ~a + (b >> 1); }
uint rotated(uint x, uint n) { return (x << n) | (x >> (32 - n)); }
int2 shifted(int2 a, int2 n) { return (a << n) + (a >> n); }
int64_t wide(int64_t a, int n) { return a << n - 1 + 1; }
int16_t3 of_vectors(int16_t3 a, int16_t3 b) { return ((a * b) >> b) % a; }

bool grows(int x) { return x + 1 > x; }
int doubled_and_halved(int x) { return x * 2 / 2; }
int upwards(int x) { int n = 0; for (int i = x; i > 0 && n < 9; i++) n++; return n; }
bool2 grow(int2 x) { return x + 1 > x; }
bool grows_wide(int64_t x) { return x + 1 > x; }
"""


@pytest.fixture(scope="module")
def module() -> slang.SlangModule:
    return slang.load(SOURCE)


def test_matrices(module: slang.SlangModule) -> None:
    m = torch.rand(4, 2, 3, requires_grad=True)
    found = module.negated(m)
    assert torch.equal(found, -m)
    assert torch.equal(torch.autograd.grad(found.sum(), m)[0], -torch.ones(4, 2, 3))
    a, b = torch.rand(2, 5, 2, 2) > 0.5
    assert torch.equal(module.both(a, b), a & ~b)


def test_half(module: slang.SlangModule) -> None:
    a, b = torch.rand(2, 4, 2, 2).half() + 1
    for v, w in ((torch.zeros(3), torch.ones(3)), (torch.ones(3), torch.ones(3))):
        expected = (a * b if bool((v < w).all()) else a / b) + a
        torch.testing.assert_close(module.in_half(a, b, v.half(), w.half()), expected)


def test_round_goes_to_the_even_one(module: slang.SlangModule) -> None:
    x = torch.tensor([0.5, 1.5, 2.5, -0.5, -1.5, 0.49999997, 2.6, -7.4])
    assert torch.equal(module.nearest(x), x.round())


def test_small_whole_numbers_stay_small(module: slang.SlangModule) -> None:
    """C++ computes in 32 bits: what goes on with a sum saw bits that Slang, and torch, cut off."""
    a = torch.tensor([100, -100, 127, -128, 5], dtype=torch.int8)
    b = torch.tensor([100, -100, 1, -1, 7], dtype=torch.int8)
    assert torch.equal(module.widened(a, b), (a + b).float() + (-a).float() + (a * b).float())
    c, d = torch.tensor([30000, -30000, 3], dtype=torch.int16), torch.tensor([10000, -10000, 4], dtype=torch.int16)
    assert torch.equal(module.halved(c, d), torch.div(c + d, 2, rounding_mode="trunc"))
    u, w = a.view(torch.uint8), b.view(torch.uint8)
    assert torch.equal(module.wrapped(u, w), ((u - w) > 100) | (u + w < u))
    assert torch.equal(module.complement(u), ((~u) + ((u << 1).clamp(min=3) >> 1)).int())
    v, s = torch.randint(1, 30000, (6, 3)).short(), torch.randint(1, 9, (6, 3)).short()
    assert torch.equal(module.of_vectors(v, s), torch.fmod((v * s) >> s, v))


def test_shifts_by_any_count(module: slang.SlangModule) -> None:
    """In C++ a count of 32 or more gives any value, another one in a vector of the processor than alone."""
    x, n = torch.randint(-(2**31), 2**31, (100,)), torch.arange(-40, 60)
    low = n & 31
    rotated = ((x << low) | ((x & 0xFFFFFFFF) >> ((32 - n) & 31))) & 0xFFFFFFFF
    found = module.rotated(x.int().view(torch.uint32), n.int().view(torch.uint32))
    assert torch.equal(found.view(torch.int32), rotated.int())
    pairs = module.shifted(x.int().reshape(50, 2), n.int().reshape(50, 2))
    assert torch.equal(pairs.flatten(), (x << low).int() + (x >> low).int())
    assert torch.equal(module.wide(x, n.int()), x << (n & 63))


def test_whole_numbers_wrap(module: slang.SlangModule) -> None:
    """In C++ a signed sum that overflows has no value: a compiler takes `x + 1 > x` for true."""
    x = torch.tensor([2**31 - 1, -(2**31), 2**30, 5], dtype=torch.int32)
    assert torch.equal(module.grows(x), x + 1 > x)
    assert torch.equal(module.doubled_and_halved(x), torch.div(x * 2, 2, rounding_mode="trunc"))
    assert module.upwards(x).tolist() == [1, 0, 9, 9]
    assert torch.equal(module.grow(x.reshape(2, 2)).flatten(), x + 1 > x)
    wide = torch.tensor([2**63 - 1, 5])
    assert torch.equal(module.grows_wide(wide), wide + 1 > wide)
