"""The engines `openvino`, `frozen` and `inductor` give the answers of torch, at every size, also from a file."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import warnings

import pytest
import torch

import tracepack
from tests.engines.fakes import COMPILING, in_turn
from tracepack.ops.engines.exporting import onnx_weights


class Net(torch.nn.Module):
    """A convolution, a norm, a mean over what is left, and a layer."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8)
        self.head = torch.nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = self.head(torch.relu(self.norm(self.conv(x))).mean((2, 3)))
        return y.softmax(-1), y.argmax(-1)


@pytest.mark.parametrize("engine", ["openvino", "frozen", pytest.param("inductor", marks=COMPILING)])
def test_every_size_gives_the_answers_of_torch(engine, monkeypatch) -> None:
    if engine == "openvino":
        pytest.importorskip("openvino", reason="the extra 'openvino' is not installed")
        pytest.importorskip("onnxscript", reason="the extra 'openvino' is not installed")
    for measure in ("candidate.interleaved", "search.contest"):
        monkeypatch.setattr(f"tracepack.pipeline.optimizing.{measure}", in_turn)
    torch.manual_seed(0)
    model = Net().eval()
    op = tracepack.script(model, name="net")
    mod = tracepack.trace(lambda x: op(x), torch.rand(2, 3, 8, 8))
    report = mod.optimize([{"x": torch.rand(2, 3, 8, 8)}], engines=[engine])
    assert report.engines == {"pipeline": engine}, report
    file = io.BytesIO()
    mod.save(file, examples=[{"x": torch.rand(2, 3, 8, 8)}])
    loaded = tracepack.load(file.getvalue(), trust=True, verify="golden")
    for shape in [(2, 3, 8, 8), (1, 3, 8, 8), (5, 3, 6, 9)]:
        x = torch.rand(shape)
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("error")  # nothing is left to the flat function
            wanted = model(x)
            for found in (mod.run({"x": x}), loaded.run({"x": x})):
                torch.testing.assert_close(found[0], wanted[0], rtol=1e-4, atol=1e-5)
                assert torch.equal(found[1], wanted[1])
    first = mod.run({"x": x})[0]
    kept = first.clone()
    mod.run({"x": x + 1})
    assert torch.equal(first, kept), "a result was written again"


@pytest.mark.parametrize("engine", ["onnxruntime", "openvino", "frozen"])
def test_inputs_with_gaps_are_read_while_they_are_in_memory(engine, monkeypatch) -> None:
    """The copy without gaps of one input must live while that of the next is made: their sizes are equal."""
    if engine != "frozen":
        pytest.importorskip(engine, reason="an extra is not installed")
        pytest.importorskip("onnxscript", reason="an extra is not installed")
    for measure in ("candidate.interleaved", "search.contest"):
        monkeypatch.setattr(f"tracepack.pipeline.optimizing.{measure}", in_turn)
    a, b = torch.arange(4096).float()[::2], torch.ones(4096)[::2]
    mod = tracepack.trace(lambda a, b: (a * 2 + b, a - b), a, b)
    assert mod.optimize([{"a": a, "b": b}], engines=[engine]).engines == {"pipeline": engine}
    for found, wanted in zip(mod.run({"a": a, "b": b}), (a * 2 + b, a - b), strict=True):
        torch.testing.assert_close(found, wanted)


def test_a_size_that_a_trace_fixes_is_refused_before_it_runs() -> None:
    """The states that an LSTM begins with have the size of the batch: torch read beyond them at others, and crashed."""
    op = tracepack.script(torch.nn.LSTM(8, 8, batch_first=True).eval(), name="lstm", contiguous=True)
    mod = tracepack.trace(lambda x: op(x)[0], torch.rand(3, 5, 8))
    report = mod.optimize([{"x": torch.rand(3, 5, 8)}], engines=["frozen"])
    assert {each.reason.partition(",")[0] for each in report.attempts} == {"torch.jit fixes a size of the example"}


@pytest.mark.parametrize("engine", ["onnxruntime", "openvino"])
@pytest.mark.parametrize("shape", [(5, 2, 3), (5, 3)])
@pytest.mark.parametrize("layer", [torch.nn.LSTM(3, 4, bidirectional=True), torch.nn.GRU(3, 4, 2)])
def test_recurrent_layers_along_the_first_dimension_keep_their_length_free(engine, shape, layer) -> None:
    """An export that fixes it makes OpenVINO read beyond its memory at a longer sequence, which ended the process."""
    pytest.importorskip(engine, reason="an extra is not installed")
    pytest.importorskip("onnxscript", reason="an extra is not installed")
    op = tracepack.script(layer.eval(), engine=engine, contiguous=True)
    mod = tracepack.trace(lambda x: op(x)[0], torch.randn(shape))
    assert engine in mod.engines.values()
    for length in (5, 7, 2, 40):
        x = torch.randn(length, *shape[1:])
        torch.testing.assert_close(mod(x), layer(x)[0].detach(), rtol=1e-4, atol=1e-5)


POOLS = {
    "max_pool2d": lambda x: torch.nn.functional.max_pool2d(x, 3, 2, ceil_mode=True).contiguous(),
    "avg_pool2d": lambda x: torch.nn.functional.avg_pool2d(x, 2, 2, 0, True).contiguous(),
    "lp_pool2d": lambda x: torch.nn.functional.lp_pool2d(x, 2, 3, ceil_mode=True).contiguous(),
    "of a model": tracepack.script(torch.nn.MaxPool2d(2, ceil_mode=True), name="pool", contiguous=True),
}


@pytest.mark.parametrize("name", POOLS)
def test_openvino_has_no_pool_that_rounds_sizes_up(name) -> None:
    """Its sizes and means are others there, and at some it read beyond its memory, which ended the process."""
    pytest.importorskip("openvino", reason="the extra 'openvino' is not installed")
    pytest.importorskip("onnxscript", reason="the extra 'openvino' is not installed")
    pool, x = POOLS[name], torch.randn(2, 3, 7, 6)
    mod = tracepack.trace(lambda x: pool(x), x)
    report = mod.optimize([{"x": x}], engines=["openvino"], seconds=5)
    assert {each.reason for each in report.attempts} == {
        "OpenVINO has other sizes and means than torch where a pool has `ceil_mode`"
    }
    assert torch.equal(mod(torch.ones(1, 1, 3, 5)), pool(torch.ones(1, 1, 3, 5)))


def test_a_pool_that_does_not_round_up_is_openvinos(mirror) -> None:
    pytest.importorskip("openvino", reason="the extra 'openvino' is not installed")
    pytest.importorskip("onnxscript", reason="the extra 'openvino' is not installed")
    x = torch.randn(2, 3, 7, 6)
    mod = tracepack.trace(lambda x: torch.nn.functional.avg_pool2d(x, 2, 2, 0, False, True).contiguous(), x)
    assert mod.optimize([{"x": x}], engines=["openvino"], seconds=5).engines == {"pipeline": "openvino"}


def test_openvino_reads_weights_where_they_lie_or_from_the_model(monkeypatch) -> None:
    """The second where a version of it takes the address for the name of a file."""
    engine = pytest.importorskip("tracepack.ops.engines.openvino", reason="the extra 'openvino' is not installed")
    pytest.importorskip("onnxscript", reason="the extra 'openvino' is not installed")
    used: list[str] = []
    for name in ("addressed", "embedded"):
        made = getattr(engine, name)
        monkeypatch.setattr(engine, name, lambda weights, made=made, name=name: (used.append(name), made(weights))[1])
    model, x = torch.nn.Linear(40, 30).eval(), torch.rand(2, 40)
    op = tracepack.script(model, engine="openvino")
    mod = tracepack.trace(lambda x: op(x), x)
    torch.testing.assert_close(mod(x), model(x).detach(), rtol=1e-4, atol=1e-5)
    assert set(used) == {"addressed"}
    monkeypatch.setattr(onnx_weights, "_IN_MEMORY", "no/such/file")
    file = io.BytesIO()
    mod.save(file)
    torch.testing.assert_close(tracepack.load(file.getvalue(), trust=True)(x), model(x).detach(), rtol=1e-4, atol=1e-5)
    assert used[-2:] == ["addressed", "embedded"]


SIGNALS = """
import faulthandler, gc, signal, torch, tracepack
faulthandler.enable()  # it gives signals a stack of their own, as pytest does
x, pipelines = torch.rand(2, 4), []
for width in (3, 5):
    op = tracepack.script(torch.nn.Linear(4, width).eval(), example=x, engine="openvino")
    pipelines.append(tracepack.trace(lambda x: op(x), x))
    pipelines[-1](x)
del op
while pipelines:
    pipelines.pop(0)
    gc.collect()
signal.signal(signal.SIGALRM, lambda *given: print("handled"))
signal.raise_signal(signal.SIGALRM)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="this system has no alarms")
@pytest.mark.campaign  # a process of its own, which compiles for OpenVINO
def test_a_signal_is_handled_after_pipelines_of_openvino_were_freed() -> None:
    pytest.importorskip("openvino", reason="the extra 'openvino' is not installed")
    pytest.importorskip("onnxscript", reason="the extra 'openvino' is not installed")
    ended = subprocess.run([sys.executable, "-c", SIGNALS], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, "handled\n"), ended.stderr
