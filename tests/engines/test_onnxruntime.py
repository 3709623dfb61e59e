"""The engine `onnxruntime`: a region as an ONNX model gives the answers of torch, at every size."""

from __future__ import annotations

import io
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

import tracepack
from tests.engines.fakes import in_turn
from tracepack.ops.graph.traverse import constants

onnxruntime = pytest.importorskip("onnxruntime", reason="the extra 'onnx' is not installed")
pytest.importorskip("onnxscript", reason="the extra 'onnx' is not installed")


class Words(torch.nn.Module):
    """Embeds, and attends: gathers, products, a softmax, a norm, sizes that are computed."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(50, 32)
        self.keys = torch.nn.Linear(32, 32)
        self.norm = torch.nn.LayerNorm(32)
        self.head = torch.nn.Linear(32, 16)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.table(ids)
        mixed = torch.softmax(self.keys(x) @ x.transpose(1, 2), -1) @ x
        return self.head(self.norm(x + mixed)).mean(1)


@pytest.fixture(scope="module")
def made() -> tuple[tracepack.Pipeline, torch.nn.Module, bytes]:
    """A pipeline on ONNX Runtime, its model, and its archive."""
    torch.manual_seed(0)
    model = Words().eval()
    op = tracepack.script(model, name="words")

    def process(ids: torch.Tensor) -> dict[str, object]:
        scores = op(ids).softmax(-1)
        top = scores.topk(3)
        return {"scores": scores, "best": top.indices, "count": ids.shape[0]}

    mod = tracepack.trace(process, torch.randint(0, 50, (2, 5)))
    with pytest.MonkeyPatch.context() as patch:
        for measure in ("candidate.interleaved", "search.contest"):
            patch.setattr(f"tracepack.pipeline.optimizing.{measure}", in_turn)
        report = mod.optimize([{"ids": torch.randint(0, 50, (2, 5))}], engines=["onnxruntime"])
    assert report.engines == {"pipeline": "onnxruntime"}, report
    file = io.BytesIO()
    mod.save(file, examples=[{"ids": torch.randint(0, 50, (2, 5))}])
    return mod, model, file.getvalue()


@pytest.mark.parametrize("shape", [(2, 5), (1, 1), (7, 3), (3, 11)])
def test_every_size_gives_the_answers_of_torch(made, shape) -> None:
    mod, model, _ = made
    ids = torch.randint(0, 50, shape, generator=torch.Generator().manual_seed(shape[1]))
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is left to the flat function
        wanted, found = model(ids).softmax(-1), mod.run({"ids": ids})
    torch.testing.assert_close(found["scores"], wanted, rtol=1e-5, atol=1e-6)
    assert torch.equal(found["best"], wanted.topk(3).indices)
    assert (found["best"].dtype, found["count"]) == (torch.int64, shape[0])


@pytest.mark.parametrize("wrong", [-1, 50])
def test_an_index_out_of_range_is_the_error_of_torch(made, wrong) -> None:
    mod, _, _ = made
    with pytest.raises(tracepack.NodeError, match="index out of range"):
        mod.run({"ids": torch.tensor([[0, wrong]])})


def test_in_autocast_the_nodes_run(made) -> None:
    mod, model, _ = made
    ids = torch.randint(0, 50, (2, 5))
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.no_grad():
        wanted, got = model(ids).softmax(-1), mod.run({"ids": ids})["scores"]
    assert torch.equal(got, wanted)
    assert not torch.equal(mod.run({"ids": ids})["scores"], got)


def test_results_are_the_callers_own(made) -> None:
    mod, _, _ = made
    ids = torch.randint(0, 50, (2, 5))
    first = mod.run({"ids": ids})["scores"]
    kept = first.clone()
    mod.run({"ids": ids})["scores"].zero_()
    assert torch.equal(first, kept)
    assert torch.equal(mod.run({"ids": ids})["scores"], kept)


def test_arrays_and_strides_are_taken(made) -> None:
    mod, _, _ = made
    ids = torch.randint(0, 50, (5, 2))
    wanted = mod.run({"ids": ids.t().contiguous()})["scores"]
    assert torch.equal(mod.run({"ids": ids.t()})["scores"], wanted)
    assert torch.equal(mod.run({"ids": np.ascontiguousarray(ids.t().numpy())})["scores"], wanted)


def test_a_file_holds_the_weights_once_and_answers_alike(made) -> None:
    mod, model, data = made
    weights = sum(parameter.nbytes for parameter in model.parameters())
    assert len(data) < weights + 70_000
    loaded = tracepack.load(data, trust=True, verify="golden")
    assert loaded.engines == {"pipeline": "onnxruntime"}
    ids = torch.randint(0, 50, (4, 6))
    assert torch.equal(loaded.run({"ids": ids})["scores"], mod.run({"ids": ids})["scores"])
    with pytest.warns(UserWarning, match="runs on aten in place of onnxruntime: its engines need trust=True"):
        plain = tracepack.load(data)
    torch.testing.assert_close(plain.run({"ids": ids})["scores"], mod.run({"ids": ids})["scores"])


def test_a_matrix_that_the_export_transposes_is_stored_once(made) -> None:
    mod, _, _ = made
    (choice,) = mod.program.engines
    held = {id(constant) for constant in constants(mod.graph)}
    taken = choice.artefact.constants
    assert [name for name, constant in taken.items() if id(constant) not in held] == []
    assert len([name for name in taken if name.endswith(" turned")]) == 2  # of the layers `keys` and `head`


def test_a_model_that_onnx_cannot_say_stays_with_the_flat_function() -> None:
    mod = tracepack.trace(lambda x: torch.special.bessel_j0(x), torch.rand(3, 3))
    report = mod.optimize([{"x": torch.rand(3, 3)}], engines=["onnxruntime"], seconds=5)
    assert mod.engines == {"pipeline": "aten"}
    assert report.attempts[0].reason


def test_where_torch_follows_the_caller_the_nodes_run(monkeypatch) -> None:
    """`make_fx` hands plain tensors over, and `functionalize` ones that look plain: an engine's answer would freeze."""
    for measure in ("candidate.interleaved", "search.contest"):
        monkeypatch.setattr(f"tracepack.pipeline.optimizing.{measure}", in_turn)
    layer = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU()).eval()
    op = tracepack.script(layer)
    mod = tracepack.trace(lambda x: op(x) + 1, torch.rand(3, 4))
    mod.optimize([{"x": torch.rand(3, 4)}], engines=["onnxruntime"])
    assert set(mod.engines.values()) == {"onnxruntime"}
    x, y = torch.rand(3, 4), torch.randn(3, 4)
    mod(x)
    graph = make_fx(mod)(x)
    with torch.no_grad():
        torch.testing.assert_close(graph(y), layer(y) + 1)
        torch.testing.assert_close(torch.func.functionalize(mod)(y), layer(y) + 1)
        torch.testing.assert_close(torch.func.functionalize(lambda x: mod(x.clone().mul_(2)))(y), layer(2 * y) + 1)
        torch._dynamo.reset()
        compiled = torch.compile(lambda x: mod(x) * 2, fullgraph=True, backend="eager")
        torch.testing.assert_close(compiled(y), (layer(y) + 1) * 2)


def towers(x: torch.Tensor) -> torch.Tensor:
    """Two parts that do not depend on each other."""
    left, right = x, x
    for _ in range(3):
        left, right = (left @ torch.ones(64, 64)).tanh(), (right @ torch.eye(64)).sigmoid()
    return left + right


def test_independent_parts_run_side_by_side_where_that_is_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    modes: list[tuple[str, int, int]] = []
    make = onnxruntime.InferenceSession

    def noted(model: bytes, options: Any, **given: Any) -> Any:
        if not options.optimized_model_filepath:  # else it is made for the model that it writes
            modes.append((options.execution_mode.name, options.inter_op_num_threads, options.intra_op_num_threads))
        return make(model, options, **given)

    monkeypatch.setattr(onnxruntime, "InferenceSession", noted)
    for measure in ("candidate.interleaved", "search.contest"):
        monkeypatch.setattr(f"tracepack.pipeline.optimizing.{measure}", in_turn)
    mod = tracepack.trace(towers, torch.rand(3, 64))
    alone = mod.optimize([{"x": torch.rand(3, 64)}], engines=["onnxruntime"], threads=1)
    assert [each.engine for each in alone.attempts] == ["onnxruntime"]
    mod.optimize([{"x": torch.rand(3, 64)}], engines=["onnxruntime"], threads=2)
    assert mod.engines == {"pipeline": "onnxruntime side by side"}
    usual, awake, several = ("ORT_SEQUENTIAL", 1, 2), ("ORT_SEQUENTIAL", 1, 2), ("ORT_PARALLEL", 2, 1)
    assert modes == [("ORT_SEQUENTIAL", 1, 1), usual, awake, several]
    x = torch.rand(5, 64)
    torch.testing.assert_close(mod(x), towers(x))
    file = io.BytesIO()
    mod.save(file)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        torch.testing.assert_close(tracepack.load(file.getvalue(), trust=True)(x), towers(x))
    finally:
        torch.set_num_threads(before)
    assert modes[-1] == ("ORT_SEQUENTIAL", 1, 1), "one thread has nothing to share"


def test_threads_that_wait_without_sleep_are_a_way_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    sleeping: list[bool] = []
    make = onnxruntime.InferenceSession

    def noted(model: bytes, options: Any, **given: Any) -> Any:
        try:
            sleeping.append(options.get_session_config_entry("session.force_spinning_stop") == "1")
        except RuntimeError:  # it has no such entry
            sleeping.append(False)
        return make(model, options, **given)

    monkeypatch.setattr("tracepack.ops.engines.onnxruntime.OnnxRuntime.cores", ("awake",))
    for measure in ("candidate.interleaved", "search.contest"):
        monkeypatch.setattr(f"tracepack.pipeline.optimizing.{measure}", in_turn)
    mod = tracepack.trace(towers, torch.rand(3, 64))
    monkeypatch.setattr(onnxruntime, "InferenceSession", noted)
    mod.optimize([{"x": torch.rand(3, 64)}], engines=["onnxruntime"], threads=2)
    assert mod.engines == {"pipeline": "onnxruntime awake"}
    assert set(sleeping[: len(sleeping) // 2]) == {True}
    assert set(sleeping[len(sleeping) // 2 :]) == {False}
    x, file = torch.rand(5, 64), io.BytesIO()
    mod.save(file)
    torch.testing.assert_close(tracepack.load(file.getvalue(), trust=True)(x), towers(x))
    assert sleeping[-1] is False
