"""The same functions on a Vulkan device; llvmpipe, Mesa's software driver, will do."""

from __future__ import annotations

import numpy as np
import pytest
import slangpy as spy
import torch

from tracepack.ops import slang
from tracepack.ops.errors import DeviceError

from .conftest import POLYNOMIAL, TENSORS, TYPES


@pytest.fixture(scope="module")
def device(cache: None) -> spy.Device:
    try:
        return slang.create_device("vulkan")
    except DeviceError as error:
        pytest.skip(f"no Vulkan driver on this machine: {error.got}")


def test_forward_and_backward(device: spy.Device) -> None:
    module = slang.load(POLYNOMIAL, "vulkan")
    x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    result = module.polynomial(a=2, b=8, c=-1, x=x)
    result.sum().backward()
    assert result.tolist() == [9.0, 23.0, 41.0, 63.0]
    assert x.grad.tolist() == [12.0, 16.0, 20.0, 24.0]


def test_vectors_bools_structs_and_integers(device: spy.Device) -> None:
    module = slang.load(TYPES, "vulkan")
    m, v = torch.randn(3, 3), torch.randn(5, 3)
    torch.testing.assert_close(module.transformed(m, v), v @ m.T)
    assert module.positive(torch.tensor([1.0, -1.0, 2.0])).tolist() == [True, False, True]
    assert module.add_i32(torch.tensor([1, 2], dtype=torch.int32), 3).tolist() == [4, 5]
    pair = {"x": torch.randn(4), "y": torch.randn(4, 2)}
    torch.testing.assert_close(module.doubled(pair), {"x": 2 * pair["x"], "y": 2 * pair["y"]})


def test_slangpys_tensors(device: spy.Device) -> None:
    module = slang.load(TENSORS, device)
    x = spy.Tensor.from_numpy(device, np.array([1, 2, 3, 4], dtype=np.float32)).with_grads(zero=True)
    result = spy.Tensor.empty(device, (4,), float)
    module.polynomial(idx=spy.grid((4,)), a=2, b=8, c=-1, x=x, result=result)
    np.testing.assert_array_equal(result.to_numpy(), [9, 23, 41, 63])


def test_whole_tensors_are_refused_for_torch(device: spy.Device) -> None:
    with pytest.raises(DeviceError, match="do not run on Vulkan with torch tensors"):
        slang.load(TENSORS, "vulkan").total(torch.ones(2, 2))
