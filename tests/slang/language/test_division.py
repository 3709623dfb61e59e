"""Whole numbers can be divided by every number: the processor ends the process on some that C++ leaves undefined."""

from __future__ import annotations

import io
import itertools

import pytest
import torch

import tracepack as tp
from tracepack.ops import slang

SOURCE = """
T quotient<T : __BuiltinIntegerType>(T a, T b) { return a / b; }
T remainder<T : __BuiltinIntegerType>(T a, T b) { return a % b; }
int2 pairs(int2 a, int2 b) { int2 c = a; c /= b; return c + a % b; }
int3 by_number(int3 a, int b) { a /= b; return a; }
int2x2 matrices(int2x2 a, int2x2 b) { return a / b; }
int chained(int a, int b, int c) { return 7 * a / b * c - a / b / c + a % b % c * -b; }
int promoted(int8_t a, int b) { return a / b + (a + 1) / (b - 1); }
int looped(int a, int b, int n) { int s = a; for (int i = 0; i < n; i++) { s += (a + i) / b; s %= b + i; } return s; }
float floats(float a, float b) { return a / b + a % b; }
float3 vectors(float3 a, float3 b) { return a / b; }
double doubles(double a, double b) { return a / b - fmod(a, b); }
half3 halves(half3 a, half3 b) { return a / b; }
[Differentiable] float scaled(float x, no_diff int a, no_diff int b) { return x * x * float(a / b); }
"""
INTEGERS = (torch.int8, torch.uint8, torch.int16, torch.uint16, torch.int32, torch.uint32, torch.int64, torch.uint64)


@pytest.fixture(scope="module")
def module() -> slang.SlangModule:
    return slang.load(SOURCE)


def divided(a: int, b: int, info: torch.iinfo) -> tuple[int, int]:
    """The quotient towards zero and the remainder, by Python's numbers; by zero both are zero."""
    if b == 0:
        return 0, 0
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return (quotient if quotient <= info.max else info.min), a - quotient * b


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_every_divisor(module: slang.SlangModule, dtype: torch.dtype) -> None:
    info = torch.iinfo(dtype)
    each = [info.min, info.min + 1, -1 if info.min else 3, 0, 1, 2, 7, info.max - 1, info.max]
    pairs = list(itertools.product(each, each))
    a, b = (torch.tensor(column, dtype=dtype) for column in zip(*pairs, strict=True))
    expected = [divided(*pair, info) for pair in pairs]
    assert module.quotient(a, b).tolist() == [quotient for quotient, _ in expected]
    assert module.remainder(a, b).tolist() == [remainder for _, remainder in expected]


def test_vectors_matrices_and_mixed_integers(module: slang.SlangModule) -> None:
    info = torch.iinfo(torch.int32)
    a, b = torch.tensor([[5, 7], [info.min, -9]]).int(), torch.tensor([[0, 2], [-1, 4]]).int()
    both = [
        [divided(x, y, info) for x, y in zip(*rows, strict=True)] for rows in zip(a.tolist(), b.tolist(), strict=True)
    ]
    wrapped = [[(q + r + 2**31) % 2**32 - 2**31 for q, r in row] for row in both]
    assert module.pairs(a, b).tolist() == wrapped
    assert module.matrices(a, b).tolist() == [[q for q, _ in row] for row in both]
    assert module.by_number(torch.tensor([5, -7, 9]).int(), 0).tolist() == [0, 0, 0]
    assert module.promoted(torch.tensor([-128], dtype=torch.int8), torch.tensor([-1]).int()).tolist() == [128 + 63]


def test_precedence_is_as_it_was(module: slang.SlangModule) -> None:
    assert module.chained(5, 3, 2) == 7 * 5 // 3 * 2 - 5 // 3 // 2 + 5 % 3 % 2 * -3
    s = 5
    for i in range(4):
        s = (s + (5 + i) // 2) % (2 + i)
    assert module.looped(5, 2, 4) == s
    assert module.looped(5, 0, 1) == 0


def test_floats_divide_as_torch_does(module: slang.SlangModule) -> None:
    a, b = torch.tensor([1.0, -1.0, 0.0, 5.5]), torch.tensor([0.0, 0.0, 0.0, 2.0])
    torch.testing.assert_close(module.floats(a, b), a / b + torch.fmod(a, b), equal_nan=True)
    torch.testing.assert_close(module.vectors(a[:3], b[:3]), a[:3] / b[:3], equal_nan=True)
    torch.testing.assert_close(
        module.doubles(a.double(), b.double()), (a / b - torch.fmod(a, b)).double(), equal_nan=True
    )
    torch.testing.assert_close(module.halves(a[1:].half(), b[1:].half()), (a / b)[1:].half(), equal_nan=True)


def test_in_a_gradient(module: slang.SlangModule) -> None:
    x = torch.tensor([1.5, 2.5, 3.5], requires_grad=True)
    module.scaled(x, torch.tensor([6, 6, 6]).int(), torch.tensor([0, 2, -1]).int()).sum().backward()
    torch.testing.assert_close(x.grad, 2 * x.detach() * torch.tensor([0.0, 3.0, -6.0]))


def test_in_a_packed_file() -> None:
    op = tp.script(slang.load("int f(int a, int b) { return a / b; }").f)
    file, a = io.BytesIO(), torch.tensor([4, 5]).int()
    tp.trace(lambda a, b: op(a, b), a, a).save(file)
    loaded = tp.load(file.getvalue(), trust=True)
    assert loaded(torch.tensor([4, -(2**31)]).int(), torch.tensor([0, -1]).int()).tolist() == [0, -(2**31)]
