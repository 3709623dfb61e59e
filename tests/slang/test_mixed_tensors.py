"""Tensors of torch and of SlangPy in one call, held against the formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import slangpy as spy
import torch

from tracepack.ops import slang

SOURCE = """
import "slangpy";
[Differentiable] float polynomial(float a, float b, float c, float x) { return a * x * x + b * x + c; }
[Differentiable] void onto(int i, IDiffTensor<float, 1> x, IRWDiffTensor<float, 1> y) { y[i] = y[i] * 2 + x[i]; }
[Differentiable] void square(int i, IWDiffTensor<float, 1> y, IDiffTensor<float, 1> x, float k) { y[i] = x[i] * x[i] * k; }
[Differentiable] void grow(inout float x, float by) { x = x * by; }
"""  # noqa: E501 - one function a line
X = np.array([1, 2, 3, 4], dtype=np.float32)


@pytest.fixture(scope="module")
def device() -> spy.Device:
    return slang.create_device("cpu")


@pytest.fixture(scope="module")
def module(device: spy.Device) -> slang.SlangModule:
    return slang.load(SOURCE, device)


@pytest.fixture
def x(device: spy.Device) -> Any:
    return spy.Tensor.from_numpy(device, X).with_grads(zero=True)


def test_one_tensor_passed_twice_gets_both_gradients(module: slang.SlangModule, x: Any) -> None:
    both = torch.tensor(X, requires_grad=True)
    filled = torch.empty(4)
    module.polynomial(both.detach(), both.detach(), -1, x, _result=filled)
    filled.grad = torch.ones(4)
    module.polynomial.bwds(both, both, -1, x, _result=filled)
    np.testing.assert_array_equal(both.grad.numpy(), X * X + X)
    np.testing.assert_array_equal(x.grad.to_numpy(), 2 * X * X + X)


def test_a_tensor_that_is_written_and_read_keeps_what_was_written(
    module: slang.SlangModule, device: spy.Device
) -> None:
    both = torch.tensor(X)
    module.square(spy.grid((4,)), both, both, spy.Tensor.from_numpy(device, np.full(4, 3, dtype=np.float32)))
    np.testing.assert_array_equal(both.numpy(), 3 * X * X)


def test_the_gradient_of_a_tensor_changed_in_place_is_that_of_its_old_content(
    module: slang.SlangModule, x: Any
) -> None:
    y = torch.ones(4)
    module.onto(spy.grid((4,)), x, y)
    np.testing.assert_array_equal(y.numpy(), 2 + X)
    y.grad = torch.ones(4)
    module.onto.bwds(spy.grid((4,)), x, y)
    np.testing.assert_array_equal(x.grad.to_numpy(), np.ones(4))
    np.testing.assert_array_equal(y.grad.numpy(), np.full(4, 2))


def test_what_has_no_gradient_is_refused(module: slang.SlangModule, x: Any) -> None:
    with pytest.raises(slang.SlangArgumentError, match="'_result' has no gradient to start from"):
        module.polynomial.bwds(2, 8, -1, x, _result=torch.ones(4))
    with pytest.raises(slang.SlangArgumentError, match="'y' has no gradient to start from"):
        module.square.bwds(spy.grid((4,)), torch.ones(4), x, 2.0)
    with pytest.raises(slang.SlangArgumentError, match="no gradient through the inout parameter 'x', it gives zeros"):
        module.grow.bwds(x, 2.0)
    with pytest.raises(slang.SlangDtypeError, match=r"no tensors of this dtype; got torch\.bfloat16"):
        module.polynomial(torch.ones(4, dtype=torch.bfloat16), 8, -1, x)
