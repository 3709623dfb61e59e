"""ONNX Runtime takes tensors by their memory: what that memory alone does not say, and whose memory the answers are."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import nn

import tracepack
from tests.engines.fakes import in_turn

pytest.importorskip("onnxruntime", reason="the extra 'onnx' is not installed")
pytest.importorskip("onnxscript", reason="the extra 'onnx' is not installed")

from tracepack.ops.engines import onnxruntime as engine  # needs the package


@pytest.fixture(scope="module", params=["by memory", "by array"])
def layer(request) -> Iterator[tuple[tracepack.Pipeline, nn.Module]]:
    """A layer on ONNX Runtime, with numbers of one tensor, as this release and as one without DLPack runs it."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 5), nn.ReLU())
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "by array":
            patch.setattr(engine, "is_understood", lambda: False)
        yield on_onnxruntime(lambda op: lambda x: op(x), model, {"x": torch.randn(3, 6)}), model


def on_onnxruntime(function: Callable, model: nn.Module, feed: dict[str, torch.Tensor]) -> tracepack.Pipeline:
    mod = tracepack.trace(function(tracepack.script(model, contiguous=True)), **feed)
    with pytest.MonkeyPatch.context() as patch:
        for measure in ("candidate.interleaved", "search.contest"):
            patch.setattr(f"tracepack.pipeline.optimizing.{measure}", in_turn)
        report = mod.optimize([feed], engines=["onnxruntime"])
    assert set(report.engines.values()) == {"onnxruntime"}, report
    return mod


MADE: dict[str, Callable[[], torch.Tensor]] = {
    "another size": lambda: torch.randn(4, 6),
    "transposed": lambda: torch.randn(6, 4).t(),
    "every second": lambda: torch.randn(4, 12)[:, ::2],
    "expanded": lambda: torch.randn(1, 6).expand(4, 6),
    "in the middle of memory": lambda: torch.randn(9, 6)[3:7],
    "one row of more": lambda: torch.randn(4, 12)[:1, :6],
    "a parameter's data": lambda: nn.Parameter(torch.randn(4, 6)).data,
    "wanting gradients": lambda: torch.randn(4, 6, requires_grad=True),
    "negative by a mark": lambda: torch._neg_view(torch.randn(4, 6)),
    "imaginary parts": lambda: torch.randn(4, 6, dtype=torch.complex64).conj().imag,
}


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_an_input_counts_as_torch_sees_it(made, layer) -> None:
    mod, model = layer
    x = made()
    with torch.no_grad():
        wanted = model(x)
    for _ in range(3):  # the first run compares
        assert torch.allclose(mod.run({"x": x}), wanted, atol=1e-5)


def test_a_tensor_of_zeros_without_memory_is_computed(layer) -> None:
    mod, model = layer
    x = torch.ones(4, 6)
    mod.run({"x": x})
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        assert torch.allclose(mod.run({"x": torch._efficientzerotensor((4, 6))}), model(torch.zeros(4, 6)), atol=1e-5)


@pytest.mark.filterwarnings("ignore:the engine .* does not answer")
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_what_is_not_finite_is_torchs(value, layer) -> None:
    mod, model = layer
    x = torch.randn(4, 6)
    mod.run({"x": x})
    x[2, 3] = value
    with torch.no_grad():
        assert torch.equal(mod.run({"x": x}).isnan(), model(x).isnan())


def test_an_answer_stays_as_it_is(layer) -> None:
    mod, model = layer
    inputs = [torch.randn(4, 6) for _ in range(20)]
    found = [mod.run({"x": x}) for x in inputs]
    assert len({each.data_ptr() for each in found}) == len(found)
    for each in found[1::2]:
        each.fill_(7.0)  # a caller may write
    with torch.no_grad():
        for x, each in list(zip(inputs, found, strict=True))[::2]:
            assert torch.allclose(each, model(x), atol=1e-5)
    assert torch.allclose(mod.run({"x": inputs[0]}), found[0])


def test_an_answer_outlives_the_engine() -> None:
    torch.manual_seed(1)
    model = nn.Linear(6, 5)
    mod = on_onnxruntime(lambda op: lambda x: op(x), model, {"x": torch.randn(3, 6)})
    x = torch.randn(3, 6)
    found = mod.run({"x": x})
    del mod
    with torch.no_grad():
        assert torch.allclose(found, model(x), atol=1e-5)


class Several(nn.Module):
    def forward(self, x, ids):
        larger = x > 0.25
        return x * 2 + ids, larger, ids + 1, larger.all(), (x + ids).double()


def test_each_dtype_comes_out_as_it_is() -> None:
    model = Several()
    feed = {"x": torch.randn(4, 6), "ids": torch.randint(0, 9, (4, 6))}
    mod = on_onnxruntime(lambda op: lambda x, ids: op(x, ids), model, feed)
    for count in (4, 4, 7):
        x, ids = torch.randn(count, 6), torch.randint(0, 9, (count, 6))
        for found, wanted in zip(mod.run({"x": x, "ids": ids}), model(x, ids), strict=True):
            assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
            assert torch.allclose(found.double(), wanted.double(), atol=1e-5)
            found.logical_not_() if found.dtype == torch.bool else found.zero_()  # it is the caller's
