"""NaN, infinity and zeros with a sign pass through compiled kernels as through torch's operators."""

import pytest
import torch

import tracepack
from tracepack.ops.comprehension import Options

VALUES = [float("nan"), float("inf"), -float("inf"), -0.0, -1.0]
CASES = {
    "A(n,m) * n": lambda a: a * torch.arange(a.shape[0])[:, None],
    "A(n,m) * n + m": lambda a: a * torch.arange(a.shape[0])[:, None] + torch.arange(a.shape[1]),
    "A(n,m) * 0": lambda a: a * 0,
    "A(n,m) * 0.0 + 1": lambda a: a * 0.0 + 1,
    "A(n,m) * (m - m)": lambda a: a * 0,
    "0 - A(n,m)": lambda a: 0 - a,
    "A(n,m) + 0.0": lambda a: a + 0.0,
    "A(n,m) / n": lambda a: a / torch.arange(a.shape[0])[:, None],
    "A(n,m) - A(n,m)": lambda a: a - a,
}


@pytest.mark.parametrize("text", CASES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_product_with_zero_is_computed(text: str, dtype: torch.dtype) -> None:
    """The first call holds ordinary numbers, so that no comparison with torch's operators shows it."""
    name = {torch.float32: "float", torch.float64: "double"}[dtype]
    layer = tracepack.comprehension.define(f"def f({name}(N,M) A) -> (O) {{ O(n,m) = {text} }}")
    for shape in ((4, 33), (3, 5)):
        for options in (Options(), Options("naive"), Options("pointwise")):
            a = torch.randn(shape, dtype=dtype)
            layer(a, options=options)
            for value in VALUES:
                given = a.clone()
                given[0, 0] = given[-1, -1] = value
                found, wanted = layer(given, options=options), CASES[text](given)
                torch.testing.assert_close(found, wanted, equal_nan=True)
                numbers = ~wanted.isnan()  # whose sign says nothing
                assert found[numbers].signbit().equal(wanted[numbers].signbit())


def test_a_sum_of_products_with_zero_is_computed() -> None:
    layer = tracepack.comprehension.define("def f(float(N,M) A) -> (O) { O(n) +=! A(n,m) * n }")
    a = torch.randn(4, 33)
    layer(a)
    a[0, 3] = float("nan")
    assert layer(a).isnan().tolist() == [True, False, False, False]
