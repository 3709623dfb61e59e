"""Engines on a CUDA card: on one where there is one, and on stand-ins elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import tracepack
from tests.card import stand_in
from tests.engines.fakes import in_turn
from tracepack.ops.engines.checks.left_to_torch import LeftToTorch
from tracepack.ops.engines.cudagraph import MOST_GRAPHS, CudaGraph
from tracepack.ops.engines.engine import Task
from tracepack.ops.engines.region import Region, regions
from tracepack.ops.graph.device import Device
from tracepack.pipeline.optimizing.search import engines_of

CARD = Device("cuda", 0)


class Recorded(TorchDispatchMode):
    """A CUDA graph on the CPU: the operators that ran while it was entered run again, into the memory of then."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Any, Any, Any, Any]] = []
        self.replays = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        self.calls.append((func, args, kwargs or {}, found))
        return found

    def replay(self) -> None:
        self.replays += 1
        for func, args, kwargs, found in self.calls:
            for old, new in zip(flat(found), flat(func(*args, **kwargs)), strict=True):
                old.copy_(new)


def flat(found: Any) -> list[torch.Tensor]:
    return [each for part in found for each in flat(part)] if isinstance(found, tuple | list) else [found]


class Stream(SimpleNamespace):
    """A stream, or an event, of which nothing is waited for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *given: None


@contextmanager
def entered(*given: Any) -> Iterator[None]:
    yield


@pytest.fixture
def card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A card, or what stands in for one."""
    if torch.cuda.is_available():
        yield
        return
    with stand_in(tmp_path):
        streams = {"Stream": Stream, "Event": Stream, "current_stream": Stream, "stream": entered}
        for name, each in {**streams, "CUDAGraph": Recorded, "graph": lambda graph: graph}.items():
            monkeypatch.setattr(torch.cuda, name, each)
        monkeypatch.setattr(torch.accelerator, "synchronize", lambda *given: None)
        yield


def region_of(function: Any, *examples: torch.Tensor) -> Region:
    return regions(tracepack.trace(function, *examples).graph)[0]


@pytest.mark.card
def test_cuda_graphs_give_the_answers_of_each_signature(card: None) -> None:
    weight = torch.rand(4, 3, device="cuda")
    region = region_of(lambda x: ((x @ weight).relu(), x.sum(0)), torch.rand(2, 4, device="cuda"))
    engine = CudaGraph()
    task = Task(region, [[torch.rand(2, 4)]], 1)
    call = engine.open(engine.make(task), region, CARD)
    first = call(torch.ones(2, 4, device="cuda"))
    kept = [each.clone() for each in first]
    for rows in (2, 5, 2, *range(6, 7 + MOST_GRAPHS), 2):
        x = torch.rand(rows, 4, device="cuda")
        for given in (x, torch.rand(4, rows, device="cuda").t()):
            for mine, wanted in zip(call(given), ((given @ weight).relu(), given.sum(0)), strict=True):
                torch.testing.assert_close(mine, wanted)
    for mine, before in zip(first, kept, strict=True):
        assert torch.equal(mine, before), "a result was written again"


@pytest.mark.card
def test_a_pipeline_on_a_card_is_optimized_and_reloaded_there(card: None, tmp_path: Path, monkeypatch) -> None:
    for measure in ("candidate.interleaved", "search.contest"):
        monkeypatch.setattr(f"tracepack.pipeline.optimizing.{measure}", in_turn)
    x = torch.rand(2, 4, device="cuda")
    op = tracepack.script(torch.nn.Linear(4, 3).eval().cuda(), device=0)
    mod = tracepack.trace(lambda x: op(x).relu(), x)
    report = mod.optimize([{"x": x}], engines=["cudagraph"])
    assert report.engines == {"pipeline": "cudagraph"}, report
    path = tmp_path / "a.tpk"
    mod.save(path)
    loaded = tracepack.load(path, device=0, trust=True)
    assert loaded.engines == {"pipeline": "cudagraph"}
    for rows in (2, 7):
        x = torch.rand(rows, 4, device="cuda")
        torch.testing.assert_close(loaded(x), mod(x))


def test_engines_are_chosen_by_placement() -> None:
    on_card = {engine.name for engine in engines_of(None, ["cuda"])}
    on_cpu = {engine.name for engine in engines_of(None, ["cpu"])}
    assert "cudagraph" in on_card
    assert not {"cudagraph", "tensorrt"} & on_cpu
    assert not {"openvino", "frozen", "inductor"} & on_card
    mod = tracepack.trace(lambda x: x * 2, torch.rand(2))
    report = mod.optimize([{"x": torch.rand(2)}], engines=["cudagraph"])
    assert [each.reason for each in report.attempts] == ["it does not run on cpu"]


class Session:
    """ONNX Runtime with a card: it computes on the CPU, and notes which providers were asked for."""

    asked: Any = None

    def __init__(self, model: bytes, options: Any, providers: Any) -> None:
        import onnxruntime

        type(self).asked = providers
        self.real = onnxruntime.capi.onnxruntime_inference_collection.InferenceSession(
            model, options, providers=["CPUExecutionProvider"]
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)

    def io_binding(self) -> Any:
        binding = self.real.io_binding()
        return SimpleNamespace(
            bind_input=lambda name, kind, index, *rest: binding.bind_input(name, "cpu", 0, *rest),
            bind_output=lambda name, kind, index: binding.bind_output(name, "cpu", 0),
            synchronize_outputs=binding.synchronize_outputs, get_outputs=binding.get_outputs, real=binding,
        )  # fmt: skip

    def run_with_iobinding(self, binding: Any) -> None:
        self.real.run_with_iobinding(binding.real)


@pytest.mark.skipif(torch.cuda.is_available(), reason="a machine with a card needs no stand-in for it")
@pytest.mark.parametrize("name", ["onnxruntime", "tensorrt"])
def test_onnx_runtime_is_given_the_providers_of_the_placement(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    onnxruntime = pytest.importorskip("onnxruntime", reason="the extra 'onnx' is not installed")
    pytest.importorskip("onnxscript", reason="the extra 'onnx' is not installed")
    table, x = torch.rand(6, 300), torch.tensor([1, 5])
    region = region_of(lambda x: torch.nn.functional.embedding(x, table) * 2, x)
    (engine,) = engines_of([name], ["cuda"])
    artefact = engine.make(Task(region, [[x]], 1))
    assert artefact.constants, "its weights are those of the file"
    cuda, rt = ("CUDAExecutionProvider", {"device_id": "0"}), ("TensorrtExecutionProvider", {"device_id": "0"})
    everything = [rt[0], cuda[0], "CPUExecutionProvider"]
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: everything)
    monkeypatch.setattr(onnxruntime, "InferenceSession", Session)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda index: SimpleNamespace(synchronize=lambda: None))
    call = engine.open(artefact, region, CARD)
    assert Session.asked == [*([rt] if name == "tensorrt" else []), cuda, "CPUExecutionProvider"]
    torch.testing.assert_close(call(x)[0], table[x] * 2)
    with pytest.raises(LeftToTorch, match="an index is out of range"):
        call(torch.tensor([6]))
