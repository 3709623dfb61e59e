"""Lower precision: tried where it is asked for, held to the examples, and shown with what it costs."""

from __future__ import annotations

import io
import sys
import warnings
from dataclasses import replace
from typing import Any

import pytest
import torch

import tracepack
from tests.engines.fakes import COMPILING, Mirror, in_turn
from tracepack.ops.engines.inductor import Inductor
from tracepack.ops.engines.region import regions
from tracepack.pipeline.optimizing.candidate import observe


class Net(torch.nn.Module):
    """A convolution, a mean over what is left, two layers, and the number of the best class."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.inner, self.head = torch.nn.Linear(8, 32), torch.nn.Linear(32, 4)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = self.head(torch.relu(self.inner(torch.relu(self.conv(x)).mean((2, 3)))))
        return y, y.argmax(-1)


@pytest.fixture
def net(monkeypatch) -> Any:
    """The model, the pipeline of it, and an example; every measurement finds what is tried later faster."""
    for measure in ("candidate.interleaved", "search.contest"):
        monkeypatch.setattr(f"tracepack.pipeline.optimizing.{measure}", in_turn)
    torch.manual_seed(0)
    model = Net().eval()
    op = tracepack.script(model, name="net")
    return model, tracepack.trace(lambda x: op(x), torch.rand(2, 3, 8, 8)), {"x": torch.rand(2, 3, 8, 8)}


def tried(report: Any) -> dict[str, Any]:
    return {each.engine: each for each in report.attempts}


@pytest.mark.parametrize(
    ("engine", "precision", "way"),
    [
        ("frozen", "bf16", "bf16"),
        ("openvino", "bf16", "bf16"),
        ("onnxruntime", "int8", "int8 static"),
        pytest.param("inductor", "bf16", "bf16", marks=COMPILING),
        pytest.param("inductor", "int8", "int8 torchao", marks=COMPILING),
    ],
)
def test_an_engine_computes_in_lower_precision(net, engine, precision, way) -> None:
    if engine not in ("frozen", "inductor"):
        pytest.importorskip(engine, reason=f"the package {engine} is not installed")
    if way == "int8 torchao":
        pytest.importorskip("torchao", reason="the extra 'torchao' is not installed")
    model, mod, feed = net
    report = mod.optimize([feed], engines=[engine], precision=precision, seconds=300)
    assert mod.engines == {"pipeline": f"{engine} {way}"}, report
    found = tried(report)
    assert found[engine].error < 1e-5
    if engine != "openvino":  # which computes in float32 where the processor has no bfloat16
        assert 1e-5 < found[f"{engine} {way}"].error < 0.2
    assert report.error == found[f"{engine} {way}"].error
    file = io.BytesIO()
    mod.save(file, examples=[feed])
    loaded = tracepack.load(file.getvalue(), trust=True, verify="golden")
    assert loaded.engines == mod.engines
    other = {"x": torch.rand(5, 3, 6, 9)}
    for given in (feed, other):
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("error")  # nothing is left to the flat function
            wanted = model(given["x"])[0]
            for each in (mod, loaded):
                values = each.run(given)[0]
                assert values.dtype == torch.float32
                assert (values - wanted).norm() < 0.2 * wanted.norm()


def test_each_way_of_eight_bits_is_tried_and_shown(net) -> None:
    pytest.importorskip("onnxruntime", reason="the extra 'onnx' is not installed")
    _, mod, feed = net
    report = mod.optimize([feed], engines=["onnxruntime"], precision="int8")
    found = tried(report)
    assert list(found) == ["onnxruntime int8 static", "onnxruntime", "onnxruntime int8 dynamic"]
    dynamic = found["onnxruntime int8 dynamic"]
    if dynamic.error is None:  # the release for Python 3.10 can neither quantise this net nor run its convolution
        assert dynamic.reason.startswith("ONNX Runtime cannot")
    else:
        assert dynamic.error > 1e-5
    assert "error" in str(report).splitlines()[0]


def test_it_is_not_tried_unless_asked_for(net) -> None:
    _, mod, feed = net
    assert list(tried(mod.optimize([feed], engines=["frozen"]))) == ["frozen"]


def test_a_tolerance_that_lower_precision_exceeds_refuses_it(net) -> None:
    _, mod, feed = net
    report = mod.optimize([feed], engines=["frozen"], precision="bf16", tolerance=1e-5)
    assert mod.engines == {"pipeline": "frozen"}
    assert "differs by" in tried(report)["frozen bf16"].reason
    assert "allowed 1e-05" in tried(report)["frozen bf16"].reason


def test_integers_stay_exact(mirror, monkeypatch) -> None:
    monkeypatch.setattr(mirror, "ways", {"int8": ("coarse",)})
    monkeypatch.setattr(mirror, "change", staticmethod(_one_more))
    net = tracepack.script(Net().eval(), name="net")
    mod = tracepack.trace(lambda x: net(x), torch.rand(2, 3, 8, 8))
    report = mod.optimize([{"x": torch.rand(2, 3, 8, 8)}], engines=["mirror"], precision="int8")
    assert mod.engines == {"pipeline": "aten"}
    assert "out[1] differs by 1, allowed 0" in tried(report)["mirror coarse"].reason


def _one_more(tensor: torch.Tensor) -> torch.Tensor:
    return tensor if tensor.is_floating_point() else tensor + 1


def test_a_precision_that_there_is_not_is_named(net) -> None:
    _, mod, feed = net
    text = r"there is no such precision; got 'fp4'; expected one of \['bf16', 'int8'\]"
    with pytest.raises(tracepack.SignatureError, match=text):
        mod.optimize([feed], precision="fp4")


def test_an_engine_is_told_its_way(mirror, monkeypatch) -> None:
    monkeypatch.setattr(mirror, "ways", {"bf16": ("rough",)})
    ways, make = [], Mirror.make

    def noted(self, task):
        ways.append((task.way, len(task.given)))
        return make(self, task)

    monkeypatch.setattr(mirror, "make", noted)
    layer = tracepack.script(torch.nn.Linear(4, 2), name="layer")
    mod = tracepack.trace(lambda x: layer(x), torch.rand(3, 4))
    mod.optimize([{"x": torch.rand(3, 4)}, {"x": torch.rand(5, 4)}], engines=["mirror"], precision="bf16")
    assert ways == [("", 2), ("rough", 2)]


def test_without_torchao_the_report_says_what_to_install(net, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "torchao", None)
    monkeypatch.setitem(sys.modules, "torchao.quantization", None)
    _, mod, feed = net
    seen = observe(mod._bench([feed], None, 0.0), regions(mod.graph)[0])
    with pytest.raises(tracepack.MissingExtraError, match=r"pip install 'tracepack\[torchao\]'"):
        Inductor().make(replace(seen.task, way="int8 torchao"))
