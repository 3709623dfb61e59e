"""Every sample of the three SlangPy pages that this part grew from, in today's spelling, with the right numbers."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import slangpy as spy
import torch

from tracepack.ops import slang

from .conftest import POLYNOMIAL, TENSORS

X = np.array([1, 2, 3, 4], dtype=np.float32)
VALUES = 2 * X * X + 8 * X - 1  # 9, 23, 41, 63; the page on tensors prints 9, 27, 53, 87
SLOPES = 4 * X + 8


@pytest.fixture(scope="module")
def device() -> spy.Device:
    return slang.create_device("cpu")


@pytest.fixture(scope="module")
def module(device: spy.Device) -> slang.SlangModule:
    return slang.load(POLYNOMIAL, device)


@pytest.fixture(scope="module")
def tensor_module(device: spy.Device) -> slang.SlangModule:
    return slang.load(TENSORS, device)


class TestPyTorchPage:
    def test_load_call_and_backward(self, tmp_path: Path, device: spy.Device) -> None:
        (tmp_path / "example.slang").write_text(POLYNOMIAL)
        module = slang.TorchModule.load_from_file(device, str(tmp_path / "example.slang"))
        x = torch.tensor([1, 2, 3, 4], dtype=torch.float32, requires_grad=True)
        result = module.polynomial(a=2, b=8, c=-1, x=x)
        result.backward(torch.ones_like(result))
        np.testing.assert_array_equal(result.detach().numpy(), VALUES)
        np.testing.assert_array_equal(x.grad.numpy(), SLOPES)


class TestAutodiffPage:
    def test_result_as_tensor_then_bwds(self, module: slang.SlangModule, device: spy.Device) -> None:
        x = spy.Tensor.from_numpy(device, X).with_grads(zero=True)
        result = module.polynomial(a=2, b=8, c=-1, x=x, _result="tensor")
        assert isinstance(result, spy.Tensor)
        np.testing.assert_array_equal(result.to_numpy(), VALUES)
        result = result.with_grads()
        result.grad.storage.copy_from_numpy(np.ones(4, dtype=np.float32))
        module.polynomial.bwds(a=2, b=8, c=-1, x=x, _result=result)
        np.testing.assert_array_equal(x.grad.to_numpy(), SLOPES)

    def test_result_into_a_given_tensor(self, module: slang.SlangModule, device: spy.Device) -> None:
        x = spy.Tensor.from_numpy(device, X)
        result = spy.Tensor.empty(device, (4,), float)
        module.polynomial(a=2, b=8, c=-1, x=x, _result=result)
        np.testing.assert_array_equal(result.to_numpy(), VALUES)

    def test_return_type(self, module: slang.SlangModule, device: spy.Device) -> None:
        x = spy.Tensor.from_numpy(device, X)
        result = module.polynomial.return_type(spy.Tensor)(a=2, b=8, c=-1, x=x)
        np.testing.assert_array_equal(result.to_numpy(), VALUES)

    def test_the_element_type_by_its_name(self, module: slang.SlangModule, device: spy.Device) -> None:
        x = spy.Tensor.from_numpy(device, X)
        result = spy.Tensor.empty(device, shape=(4,), dtype=module.float)
        module.polynomial(a=2, b=8, c=-1, x=x, _result=result)
        np.testing.assert_array_equal(result.to_numpy(), VALUES)

    def test_torch_beside_slangpy_tensors(self, module: slang.SlangModule, device: spy.Device) -> None:
        x, a, filled = spy.Tensor.from_numpy(device, X).with_grads(zero=True), torch.tensor(2.0), torch.empty(4)
        assert module.polynomial(a=a, b=8, c=-1, x=x, _result=filled) is filled
        np.testing.assert_array_equal(filled.numpy(), VALUES)
        filled.grad, b = torch.ones(4), torch.full((4,), 8.0, requires_grad=True)
        module.polynomial.bwds(a=a, b=b, c=-1, x=x, _result=filled)
        np.testing.assert_array_equal(x.grad.to_numpy(), SLOPES)
        np.testing.assert_array_equal(b.grad.numpy(), X)
        with pytest.raises(slang.SlangArgumentError, match="torch's autograd does not reach through a call"):
            module.polynomial(a=a, b=b, c=-1, x=x)

    def test_the_same_three_ways_with_torch(self, module: slang.SlangModule) -> None:
        x = torch.from_numpy(X)
        filled = torch.empty(4)
        module.polynomial(a=2, b=8, c=-1, x=x, _result=filled)
        by_name = module.polynomial(a=2, b=8, c=-1, x=x, _result="tensor")
        by_type = module.polynomial.return_type(torch.Tensor)(a=2, b=8, c=-1, x=x)
        as_array = module.polynomial.return_type(np.ndarray)(a=2, b=8, c=-1, x=x)
        for found in (filled.numpy(), by_name.numpy(), by_type.numpy(), as_array):
            np.testing.assert_array_equal(found, VALUES)

    def test_bwds_on_torch_tensors_adds_to_grad(self, module: slang.SlangModule) -> None:
        x = torch.from_numpy(X.copy())
        x.grad = torch.ones(4)
        result = module.polynomial(a=2, b=8, c=-1, x=x)
        result.grad = torch.ones(4)
        module.polynomial.bwds(a=2, b=8, c=-1, x=x, _result=result)
        np.testing.assert_array_equal(x.grad.numpy(), SLOPES + 1)


class TestDifferentiableTensorsPage:
    def test_polynomial_with_slangpy_tensors(self, tensor_module: slang.SlangModule, device: spy.Device) -> None:
        x = spy.Tensor.from_numpy(device, X).with_grads(zero=True)
        result = spy.Tensor.empty(device, x.shape, float)
        given = {"idx": spy.grid(x.shape), "a": 2, "b": 8, "c": -1}
        tensor_module.polynomial(**given, x=x, result=result)
        np.testing.assert_array_equal(result.to_numpy(), VALUES)
        result = result.with_grads()
        result.grad.copy_from_numpy(np.ones(4, dtype=np.float32))
        tensor_module.polynomial.bwds(**given, x=x, result=result)
        np.testing.assert_array_equal(x.grad.to_numpy(), SLOPES)

    @pytest.mark.long
    @pytest.mark.parametrize("imports", [False, True], ids=["alone", "with include paths"])
    def test_backward_of_a_module_from_a_file(self, tmp_path: Path, device: spy.Device, imports: bool) -> None:
        """The page's own way; then the file, or what it imports, is edited and loaded again on the same device."""

        def write(factor: int) -> None:
            (tmp_path / "parts").mkdir(exist_ok=True)
            part = f"public float factor() {{ return {factor}; }}"
            (tmp_path / "parts" / "part.slang").write_text(f"module part;\n{part}" if imports else "")
            own = part.removeprefix("public ")  # one `public` in a file hides all else that is in it
            head = 'import "slangpy";\nimport part;\n' if imports else f'import "slangpy";\n{own}\n'
            body = "[Differentiable] void f(int i, IDiffTensor<float, 1> x, IWDiffTensor<float, 1> y)"
            (tmp_path / "example.slang").write_text(f"{head}{body} {{ y[i] = x[i] * x[i] * no_diff factor(); }}")

        for factor in (2, 3):
            write(factor)
            module = slang.load(tmp_path / "example.slang", device, include_paths=(tmp_path / "parts",))
            x = spy.Tensor.from_numpy(device, X).with_grads(zero=True)
            y = spy.Tensor.empty(device, x.shape, float)
            module.f(spy.grid(x.shape), x, y)
            y = y.with_grads()
            y.grad.copy_from_numpy(np.ones(4, dtype=np.float32))
            module.f.bwds(spy.grid(x.shape), x, y)
            np.testing.assert_array_equal(y.to_numpy(), factor * X * X)
            np.testing.assert_array_equal(x.grad.to_numpy(), 2 * factor * X)

    def test_polynomial_with_torch(self, tensor_module: slang.SlangModule) -> None:
        x = torch.from_numpy(X.copy()).requires_grad_()
        result = torch.empty(4)
        tensor_module.polynomial(idx=slang.grid(x.shape), a=2, b=8, c=-1, x=x, result=result)
        result.backward(torch.ones(4))
        np.testing.assert_array_equal(result.detach().numpy(), VALUES)
        np.testing.assert_array_equal(x.grad.numpy(), SLOPES)

    def test_in_place_with_separate_gradients(self, tensor_module: slang.SlangModule, device: spy.Device) -> None:
        x = spy.Tensor.from_numpy(device, X).with_grads(
            grad_in=spy.Tensor.from_numpy(device, np.ones(4, dtype=np.float32)),
            grad_out=spy.Tensor.zeros(device, shape=(4,), dtype=float),
            zero=False,  # else both are cleared, the incoming one too; the page was written before that
        )
        tensor_module.process_inplace(idx=spy.grid(x.shape), data=x)
        np.testing.assert_array_equal(x.to_numpy(), 2 * X)
        tensor_module.process_inplace.bwds(idx=spy.grid(x.shape), data=x)
        np.testing.assert_array_equal(x.grad_out.to_numpy(), 2 * np.ones(4))

    def test_in_place_with_torch(self, tensor_module: slang.SlangModule) -> None:
        leaf = torch.from_numpy(X.copy()).requires_grad_()
        data = leaf * 1
        tensor_module.process_inplace(slang.grid((4,)), data)
        data.backward(torch.ones(4))
        np.testing.assert_array_equal(data.detach().numpy(), 2 * X)
        np.testing.assert_array_equal(leaf.grad.numpy(), 2 * np.ones(4))

    @pytest.mark.parametrize("own", [True, False], ids=["slangpy", "torch"])
    def test_custom_derivative(self, tensor_module: slang.SlangModule, device: spy.Device, own: bool) -> None:
        points = np.array([-1, 0.25, 0.5, 2], dtype=np.float32)
        values, slopes = np.array([0, 0.15625, 0.5, 1]), np.array([0, 1.125, 1.5, 0])
        if own:
            x = spy.Tensor.from_numpy(device, points).with_grads(zero=True)
            result = tensor_module.custom_activation(spy.grid((4,)), x, _result="tensor").with_grads()
            found = result.to_numpy()
            result.grad.copy_from_numpy(np.ones(4, dtype=np.float32))
            tensor_module.custom_activation.bwds(spy.grid((4,)), x, _result=result)
            gradient = x.grad.to_numpy()
        else:
            x = torch.from_numpy(points).requires_grad_()
            result = tensor_module.custom_activation(slang.grid((4,)), x)
            result.backward(torch.ones(4))
            found, gradient = result.detach().numpy(), x.grad.numpy()
        np.testing.assert_allclose(found, values)
        np.testing.assert_allclose(gradient, slopes)

    @staticmethod
    def hold_linear_layer(module: slang.SlangModule, device: spy.Device, width: int, **tolerance: float) -> None:
        """Holds `linear_layer` and its `.bwds` on three rows of a width against numpy."""
        rng = np.random.default_rng(0)
        w, b, v = (rng.standard_normal(size, dtype=np.float32) for size in ((3, width), (3,), (width,)))
        tensors = [spy.Tensor.from_numpy(device, each).with_grads(zero=True) for each in (w, b, v)]
        y = spy.Tensor.empty(device, shape=(3,), dtype=float).with_grads()
        module.linear_layer(spy.grid(shape=(3,)), *tensors, y)
        np.testing.assert_allclose(y.to_numpy(), w @ v + b, **tolerance)
        y.grad.copy_from_numpy(np.ones(3, dtype=np.float32))
        module.linear_layer.bwds(spy.grid(shape=(3,)), *tensors, y)
        np.testing.assert_allclose(tensors[0].grad.to_numpy(), np.tile(v, (3, 1)), rtol=1e-5)
        np.testing.assert_allclose(tensors[1].grad.to_numpy(), np.ones(3))
        np.testing.assert_allclose(tensors[2].grad.to_numpy(), w.sum(0), rtol=1e-5, atol=1e-6)

    def test_linear_layer_with_slangpy_tensors(self, tensor_module: slang.SlangModule, device: spy.Device) -> None:
        self.hold_linear_layer(tensor_module, device, 5, rtol=1e-5, atol=1e-6)

    def test_linear_layer_as_printed_with_slangpy_tensors(self, device: spy.Device) -> None:
        """Its loop has no `[MaxIters]`, and the rows are longer than the limit of 1024 that one gets without sizes."""
        text = re.sub(r"void linear_layer.*?output\[idx\] = sum;", lambda match: match[0].replace("[MaxIters(64)]", ""),
                      TENSORS, flags=re.DOTALL)  # fmt: skip
        assert "MaxIters" not in text
        self.hold_linear_layer(slang.load(text, device), device, 2000, rtol=1e-4, atol=1e-3)

    @pytest.mark.parametrize("batch", [(), (4,)], ids=["single", "batched"])
    def test_linear_layer_with_torch(self, tensor_module: slang.SlangModule, batch: tuple[int, ...]) -> None:
        torch.manual_seed(0)
        layer = torch.nn.Linear(5, 3)
        x = torch.randn(*batch, 5, requires_grad=True)
        y = torch.zeros(*batch, 3)
        idx = torch.arange(3, dtype=torch.int32)
        function = tensor_module.linear_layer
        if batch:  # each row of the batch runs with every index: the index has an axis of its own, the last
            function = function.map(idx=(1,), input=(0,), output=(0,))
        function(idx, layer.weight, layer.bias, x, y)
        wanted = layer(x)
        torch.testing.assert_close(y, wanted)
        found = torch.autograd.grad(y.square().sum(), (layer.weight, layer.bias, x))
        expected = torch.autograd.grad(wanted.square().sum(), (layer.weight, layer.bias, x))
        for each, reference in zip(found, expected, strict=True):
            torch.testing.assert_close(each, reference)
