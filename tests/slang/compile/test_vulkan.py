"""The same functions on a Vulkan device; llvmpipe, Mesa's software driver, will do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import slangpy as spy
import torch

from tracepack.ops import slang
from tracepack.ops.graph.errors import DeviceError
from tracepack.ops.kinds import kernel_class
from tracepack.ops.slang.language.sources import Source

from ..conftest import POLYNOMIAL, TENSORS, TYPES


@pytest.fixture(scope="module")
def device() -> spy.Device:
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


@pytest.fixture(scope="module")
def whole(device: spy.Device) -> slang.SlangModule:
    return slang.load(TENSORS, "vulkan")


def test_whole_tensors(whole: slang.SlangModule) -> None:
    t = torch.randn(3, 2, 4)
    torch.testing.assert_close(whole.total(t), t.sum((1, 2)))
    x = torch.randn(4, requires_grad=True)
    result = torch.empty(4)
    whole.polynomial(slang.grid((4,)), 2, 8, -1, x, result)
    torch.testing.assert_close(result, 2 * x * x + 8 * x - 1)
    torch.testing.assert_close(torch.autograd.grad(result.sum(), x)[0], (4 * x + 8).detach())


def test_a_batch_through_a_linear_layer(whole: slang.SlangModule) -> None:
    weight, bias, x = (torch.randn(size, requires_grad=True) for size in ((3, 5), (3,), (4, 5)))
    result = torch.empty(4, 3)
    index = torch.arange(3, dtype=torch.int32)
    whole.linear_layer.map(idx=(1,), input=(0,), output=(0,))(index, weight, bias, x, result)
    expected = torch.nn.functional.linear(x, weight, bias)
    torch.testing.assert_close(result, expected)
    pairs = (torch.autograd.grad(y.square().sum(), (weight, bias, x)) for y in (result, expected))
    torch.testing.assert_close(*pairs)


def test_in_place_and_custom_derivatives(whole: slang.SlangModule) -> None:
    leaf = torch.tensor([-1.0, 0.25, 0.5, 2.0], requires_grad=True)
    data = leaf * 1
    whole.process_inplace(slang.grid((4,)), data)
    torch.testing.assert_close(torch.autograd.grad(data.sum(), leaf)[0], torch.full((4,), 2.0))
    found = torch.autograd.grad(whole.custom_activation(slang.grid((4,)), leaf).sum(), leaf)[0]
    torch.testing.assert_close(found, torch.tensor([0.0, 1.125, 1.5, 0.0]))


def test_imports_and_compile_errors(device: spy.Device, tmp_path: Path) -> None:
    (tmp_path / "helper.slang").write_text("float helper(float x) { return 2 * x; }\n")
    kernel = slang.load("import helper;\nfloat f(float x) { return helper(x); }", "vulkan", include_paths=(tmp_path,)).f
    description, assets = kernel.kernel().description(), kernel.kernel().assets()
    (tmp_path / "helper.slang").unlink()
    assert kernel_class("slang").build(description, assets)(torch.ones(2)).tolist() == [2.0, 2.0]


def test_broadcast_along_some_axes(device: spy.Device) -> None:
    module = slang.load(POLYNOMIAL, "vulkan")
    a, c, x = torch.randn(3, 1), torch.randn(5), torch.randn(2, 1, 5)
    torch.testing.assert_close(module.polynomial(a, 2.0, c, x), a * x * x + 2 * x + c)


def test_the_gradient_of_one_element(device: spy.Device) -> None:
    """The gradient of a sum is expanded, with a stride of 0."""
    x = torch.tensor([3.0], requires_grad=True)
    slang.load(POLYNOMIAL, "vulkan").polynomial(a=2, b=8, c=-1, x=x).sum().backward()
    assert x.grad.tolist() == [20.0]


@pytest.mark.parametrize(("source", "error"), [
    (
        "[ForwardDerivative(f_forward)] float f(float x) { return x * x; }"
        "DifferentialPair<float> f_forward(DifferentialPair<float> x) { return diffPair(x.p * x.p, 2 * x.p * x.d); }",
        slang.NotDifferentiableError,
    ),
    (
        "[Differentiable] float f(float x) { float s = 0; int i = 0; while (i < 5 && s < x) { s += x; i++; }"
        "return s; }",
        slang.SlangCompileError,
    ),
], ids=["forward only", "while with a float"])  # fmt: skip
def test_what_crashes_the_compiler_does_not_end_the_process(
    device: spy.Device, monkeypatch: pytest.MonkeyPatch, source: str, error: type[slang.SlangError]
) -> None:
    monkeypatch.setattr(Source, "to_differentiate", lambda self: self)  # which makes a `for` of the `while`
    function = slang.load(source, "vulkan").f
    result = function(torch.tensor([2.0], requires_grad=True))
    with pytest.raises(error):
        result.sum().backward()
