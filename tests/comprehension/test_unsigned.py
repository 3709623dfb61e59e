"""uint64 beyond 2^63, compiled and on torch's operators, which know no such numbers; numpy is the reference."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

from tracepack import comprehension
from tracepack.ops.comprehension.expr.errors import IndexRangeError

EDGE = np.array(
    [0, 1, 2, 3, 2**31, 2**32, 2**53 + 1, 2**62, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1], np.uint64
)
WAYS = ["default", "naive", "torch"]


@pytest.fixture(autouse=True)
def _no_disagreement():
    """The check of the first call warns where a kernel and torch's operators differ."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def given(array: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(array.copy())


@pytest.mark.parametrize("options", WAYS)
def test_operators(options: str) -> None:
    text = """def f(uint64(N) A, uint64(N) B) -> (Q, R, LT, GE, MX, MN, F, D) {
        Q(i) = A(i) / B(i)
        R(i) = A(i) % B(i)
        LT(i) = A(i) < B(i) ? 1 : 0
        GE(i) = A(i) >= B(i) ? 1 : 0
        MX(i) = max(A(i), B(i))
        MN(i) = min(A(i), B(i))
        F(i) = float(A(i))
        D(i) = double(A(i))
    }"""
    a, b = (x.ravel() for x in np.meshgrid(EDGE, EDGE))
    divisor = np.where(b == 0, np.uint64(1), b)
    zero = np.uint64(0)
    wanted = [
        np.where(b == 0, zero, a // divisor), np.where(b == 0, zero, a % divisor), a < b, a >= b,
        np.maximum(a, b), np.minimum(a, b), a.astype(np.float32), a.astype(np.float64),
    ]  # fmt: skip
    found = comprehension.define(text)(given(a), given(b), options=options)
    for got, expected in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(got.numpy(), expected)


@pytest.mark.parametrize("options", WAYS)
@pytest.mark.parametrize("columns", [7, 1, 0])
def test_the_largest_and_smallest(options: str, columns: int) -> None:
    rows = np.random.default_rng(0).integers(0, 2**64, (5, columns), dtype=np.uint64)
    layer = comprehension.define("def f(uint64(N,K) A) -> (X, Y) { X(n) max=! A(n,k)  Y(n) min=! A(n,k) }")
    largest, smallest = layer(given(rows), options=options)
    np.testing.assert_array_equal(largest.numpy(), rows.max(1, initial=np.uint64(0)))
    np.testing.assert_array_equal(smallest.numpy(), rows.min(1, initial=np.uint64(2**64 - 1)))


@pytest.mark.parametrize("options", WAYS)
def test_the_largest_with_what_stands_there(options: str) -> None:
    random = np.random.default_rng(1)
    rows, start = random.integers(0, 2**64, (5, 7), dtype=np.uint64), random.integers(0, 2**64, 5, dtype=np.uint64)
    layer = comprehension.define("def f(uint64(N,K) A, uint64(N) B) -> (X) { X(n) = B(n)  X(n) max= A(n,k) }")
    found = layer(given(rows), given(start), options=options)
    np.testing.assert_array_equal(found.numpy(), np.maximum(start, rows.max(1)))


@pytest.mark.parametrize("options", WAYS)
def test_floats_become_numbers_beyond_the_half(options: str) -> None:
    values = np.array([0.0, 1.9, 2.0**53, 2.0**62, 2.0**63, 2.0**63 + 4096, 1.8e19])
    found = comprehension.define("def f(double(N) A) -> (X) { X(i) = uint64(A(i)) }")(given(values), options=options)
    np.testing.assert_array_equal(found.numpy(), values.astype(np.uint64))


@pytest.mark.parametrize("options", WAYS)
@pytest.mark.parametrize("kind", ["uint16", "uint32", "uint64"])
def test_what_is_selected_and_turned_round(options: str, kind: str) -> None:
    """torch selects and flips none of these."""
    top = np.iinfo(kind).max
    values = np.array([0, 1, top, top // 2 + 1, 7, top - 1], kind)
    places = np.array([2, 5, 0, 3, 3, 1], np.int32)
    text = f"""def f({kind}(N) A, int32(N) I) -> (G, F, M) {{
        G(i) = A(I(i))
        F(i) = A(5 - i) where i in 0:6
        M(i) = A(i % 3) where i in 0:6
    }}"""
    found = comprehension.define(text)(given(values), given(places), options=options)
    for got, expected in zip(found, [values[places], values[::-1], values[[0, 1, 2] * 2]], strict=True):
        np.testing.assert_array_equal(got.numpy(), expected)


@pytest.mark.parametrize("options", WAYS)
def test_an_index_beyond_an_int64_is_beyond_the_end(options: str) -> None:
    index = given(np.array([0, 5, 2**63, 2**64 - 1], np.uint64))
    text = "def f(float(8) A, uint64(N) I) -> (O) { O(i) = A(I(i)) }"
    clamped = comprehension.define(text, gather="clamp")(torch.arange(8.0), index, options=options)
    assert clamped.tolist() == [0.0, 5.0, 7.0, 7.0]
    with pytest.raises(IndexRangeError, match="an index of .*'A' is not in 0:8"):
        comprehension.define(text)(torch.arange(8.0), index, options=options)
