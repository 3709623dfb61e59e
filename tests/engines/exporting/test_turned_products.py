"""Products with the turned matrix of a linear layer: ONNX Runtime reads it as it lies, where that is right."""

from __future__ import annotations

import io
from collections import Counter

import pytest
import torch
from torch import nn

import tracepack
from tests.engines.opening.test_lent_tensors import on_onnxruntime

onnx = pytest.importorskip("onnx")


class Layers(nn.Module):
    """Two layers, of which the first shares its matrix with a product that takes it as it is."""

    def __init__(self, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(24, 24, dtype=dtype), nn.Linear(24, 16, bias=False, dtype=dtype)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x)) @ self.first.weight)


class Given(Layers):
    """The same, and the first matrix once more, turned, in a sum."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x).sum() + self.first(x) + self.first.weight.t()


def operators(mod: tracepack.Pipeline) -> Counter[str]:
    """How often each operator is in the model of a pipeline on ONNX Runtime."""
    (choice,) = mod.program.engines
    return Counter(node.op_type for node in onnx.load_from_string(choice.artefact.files["model.onnx"]).graph.node)


def answers(mod: tracepack.Pipeline, model: nn.Module, *shapes: tuple[int, ...]) -> None:
    """That a pipeline answers as its model, here and from a file."""
    file = io.BytesIO()
    mod.save(file)
    dtype = next(model.parameters()).dtype
    for each in (mod, tracepack.load(file.getvalue(), trust=True)):
        assert set(each.engines.values()) == {"onnxruntime"}
        for shape in shapes:
            x = torch.randn(*shape, dtype=dtype)
            torch.testing.assert_close(each.run({"x": x}), model(x).detach())


def test_a_turned_matrix_is_read_as_it_lies() -> None:
    model = Layers()
    mod = on_onnxruntime(lambda op: lambda x: op(x), model, {"x": torch.randn(2, 3, 24)})
    found = operators(mod)
    assert (found["FusedMatMul"], found["MatMul"], found["Transpose"]) == (2, 1, 0)
    answers(mod, model, (2, 3, 24), (3, 5, 24), (1, 1, 24), (4, 24, 24))


def test_four_dimensions() -> None:
    model = Layers()
    mod = on_onnxruntime(lambda op: lambda x: op(x), model, {"x": torch.randn(2, 3, 2, 24)})
    assert operators(mod)["FusedMatMul"] == 2
    answers(mod, model, (2, 3, 2, 24), (3, 5, 4, 24))


def test_what_is_used_otherwise_is_still_turned() -> None:
    model = Given()
    mod = on_onnxruntime(lambda op: lambda x: op(x), model, {"x": torch.randn(2, 24, 24)})
    found = operators(mod)
    assert (found["FusedMatMul"], found["Transpose"]) == (2, 1)
    answers(mod, model, (2, 24, 24), (3, 24, 24))


@pytest.mark.parametrize(
    ("dtype", "shape"), [(torch.float64, (2, 3, 24)), (torch.float32, (3, 24))], ids=["float64", "two dimensions"]
)
def test_where_there_is_no_such_operator_or_a_better_one_the_model_stays(dtype, shape) -> None:
    model = Layers(dtype)
    mod = on_onnxruntime(lambda op: lambda x: op(x), model, {"x": torch.randn(*shape, dtype=dtype)})
    assert operators(mod)["FusedMatMul"] == 0
    answers(mod, model, shape, tuple(size + 2 for size in shape[:-1]) + shape[-1:])


def test_the_model_that_is_exported_names_no_operator_of_one_runtime(tmp_path) -> None:
    mod = on_onnxruntime(lambda op: lambda x: op(x), Layers(), {"x": torch.randn(2, 3, 24)})
    mod.to_onnx(tmp_path / "a.onnx", [{"x": torch.randn(2, 3, 24)}])
    assert {node.domain for node in onnx.load(tmp_path / "a.onnx").graph.node} == {""}
