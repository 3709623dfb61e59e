"""Literals among doubles are doubles, however their expression is written; among floats they are float32."""

import math

import pytest
import torch

from tracepack.ops.comprehension import define
from tracepack.ops.comprehension.expr.dtypes import FLOAT32, FLOAT64, INT32
from tracepack.ops.comprehension.expr.ir import walk
from tracepack.ops.comprehension.language.parser import parse
from tracepack.ops.comprehension.language.typecheck import check

EMITTERS = pytest.mark.parametrize("options", ["torch", "naive", "default"])

AMONG_DOUBLES = {
    # a statement's right side, of doubles A and int32s K in 1:9: the same in torch
    "A(i) * 1.78": lambda a, k: a * 1.78,
    "A(i) * (-1.78)": lambda a, k: a * -1.78,
    "A(i) - -(-1.78)": lambda a, k: a - 1.78,
    "A(i) * (1.5 + 1.78 * 1.78)": lambda a, k: a * (1.5 + 1.78 * 1.78),
    "(0.1 - (-1.78)) / A(i)": lambda a, k: (0.1 + 1.78) / a,
    "A(i) * (1 / 3.0)": lambda a, k: a * (1 / 3),
    "A(i) * sqrt(2)": lambda a, k: a * math.sqrt(2),
    "A(i) * fmax(0.1, -0.1)": lambda a, k: a * 0.1,
    "A(i) * (0.1 * K(i))": lambda a, k: a * (0.1 * k.double()),
    "A(i) * (0.1 * (i + 1))": lambda a, k: a * (0.1 * torch.arange(1.0, len(a) + 1, dtype=torch.double)),
    "A(i) * (K(i) > 4 ? 0.1 : -0.3)": lambda a, k: a * torch.where(k > 4, torch.full_like(a, 0.1), -0.3),
    "(K(i) > 4 ? A(i) : -0.3) * A(i)": lambda a, k: torch.where(k > 4, a, -0.3) * a,
    "A(i) * c * c where c = -0.1": lambda a, k: a * 0.01,
    "pow(A(i), 1.0 / 3.0)": lambda a, k: a ** (1 / 3),
    "fma(A(i), -0.1, 0.1 + 0.2)": lambda a, k: a * -0.1 + (0.1 + 0.2),
    "min(A(i), 0.5 + 0.1) * max(A(i), -0.7)": lambda a, k: a.clamp(max=0.5 + 0.1) * a.clamp(min=-0.7),
    "A(i) + double(-0.1)": lambda a, k: a - 0.1,
    "A(i) * double(float(-0.1))": lambda a, k: a * -torch.tensor(0.1).double(),
}


def doubles():
    torch.manual_seed(0)
    return torch.rand(41, dtype=torch.double) + 0.05, torch.randint(1, 9, (41,), dtype=torch.int32)


@EMITTERS
@pytest.mark.parametrize("value", AMONG_DOUBLES)
def test_values_and_gradients_among_doubles(value, options):
    a, k = doubles()
    layer = define(f"def f(double(N) A, int32(N) K) -> (O) {{ O(i) = {value} }}")
    x, y = a.clone().requires_grad_(), a.clone().requires_grad_()
    found, expected = layer(x, k, options=options), AMONG_DOUBLES[value](y, k)
    torch.testing.assert_close(found, expected, rtol=1e-15, atol=0)
    seed = torch.rand_like(a)
    (found,), (expected,) = torch.autograd.grad(found, x, seed), torch.autograd.grad(expected, y, seed)
    torch.testing.assert_close(found, expected, rtol=2e-15, atol=0)


@EMITTERS
def test_comparisons_with_doubles(options):
    a = torch.tensor([-0.1, math.nextafter(-0.1, 0), math.nextafter(-0.1, -1)], dtype=torch.double)
    layer = define("def f(double(N) A) -> (E, L) { E(i) = A(i) == -0.1 L(i) = A(i) < 0.1 - 0.2 }")
    equal, less = layer(a, options=options)
    assert equal.tolist() == [True, False, False]
    assert less.tolist() == (a < 0.1 - 0.2).tolist()


@EMITTERS
def test_a_target_of_doubles_is_a_context(options):
    """Of an annotated target, of one that a statement of doubles declared, and of a reduction."""
    text = """
    def f(double(N) A, int32(N) K) -> (double O, P, double S) {
      O(i) = -0.1 * K(i)
      P(i) = A(i)
      P(i) += -0.1
      S +=! K(i) * (-0.1)
    }"""
    a, k = doubles()
    o, p, s = define(text)(a, k, options=options)
    torch.testing.assert_close(o, k.double() * -0.1, rtol=1e-15, atol=0)
    torch.testing.assert_close(p, a - 0.1, rtol=1e-15, atol=0)
    torch.testing.assert_close(s, (k.double() * -0.1).sum(), rtol=1e-14, atol=0)


@EMITTERS
def test_an_index_of_doubles(options):
    """In double it is 28.999999999999996, and of float32s 29."""
    layer = define("def f(double A, int32(N) K) -> (O) { O(j) = K(int32(A * (0.3 - 0.01) * 100)) where j in 0:2 }")
    one = torch.tensor(1.0, dtype=torch.double)
    at = int(1.0 * (0.3 - 0.01) * 100)
    assert layer(one, torch.arange(40, dtype=torch.int32), options=options).tolist() == [at] * 2


@pytest.mark.parametrize("value", ["A(i) * (-1.78)", "-0.1 * i + A(i)", "fmax(A(i), 1.0 / 3.0)", "0.1 * sqrt(i)"])
def test_programs_of_floats_stay_float32(value):
    (statement,) = check(parse(f"def f(float(N) A) -> (O) {{ O(i) = {value} where i in 0:N }}")[0]).statements
    assert {e.dtype for e in walk(statement.value)} <= {FLOAT32, INT32}


def test_a_float_of_a_tensor_or_a_cast_stays_one():
    text = "def f(float(N) F, double(N) A) -> (O) { O(i) = A(i) * (F(i) * 0.1) + A(i) * float(0.1) }"
    (statement,) = check(parse(text)[0]).statements
    left, right = statement.value.args
    assert [e.dtype for e in walk(left.args[1])] == [FLOAT32, FLOAT32, INT32, FLOAT32]
    assert (right.args[1].dtype, right.dtype) == (FLOAT32, FLOAT64)
