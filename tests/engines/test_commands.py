"""`tracepack optimize`, `export` and `profile`."""

from __future__ import annotations

import json

import pytest
import torch

import tracepack
from tests.cli.commands import answer, refused, run
from tests.engines.fakes import Mirror
from tracepack.pipeline.comparing.processor import kind_of_processor

FEED = {"x": torch.arange(12.0).reshape(3, 4) / 12}


@pytest.fixture
def file(tmp_path) -> str:
    torch.manual_seed(0)
    layer = tracepack.script(torch.nn.Linear(4, 2), name="layer")
    mod = tracepack.trace(lambda x: layer(x).tanh(), torch.rand(3, 4))
    path = str(tmp_path / "in.tpk")
    mod.save(path, examples=[FEED], metadata={"author": "me"})
    return path


def test_optimize_writes_a_file_with_its_engines(capsys, file, tmp_path, mirror: type[Mirror]) -> None:
    out = str(tmp_path / "out.tpk")
    found = answer(capsys, "optimize", file, "-o", out, "--engine", "mirror", "--threads", "1")
    assert (found["engines"], found["inputs"], found["threads"]) == ({"pipeline": "mirror"}, "golden examples", 1)
    mod = tracepack.load(out, trust=True, verify="golden")
    assert (mod.engines, mod.metadata) == ({"pipeline": "mirror"}, {"author": "me"})
    torch.testing.assert_close(mod.run(FEED), tracepack.load(file).run(FEED))
    (row,) = answer(capsys, "inspect", out)["engines"]
    assert (row["part"], row["engine"], row["processor"]) == ("pipeline", "mirror", kind_of_processor(["cpu"]))
    assert "engines   run only with --trust" in run(capsys, "inspect", out)[1]
    assert answer(capsys, "inspect", file)["engines"] == []


def test_inspect_names_the_op_that_an_engine_runs(capsys, tmp_path, mirror: type[Mirror]) -> None:
    layer = tracepack.script(torch.nn.Linear(4, 2), name="layer", engine="mirror")
    path = str(tmp_path / "named.tpk")
    tracepack.trace(lambda x: layer(x).tanh(), torch.rand(3, 4)).save(path)
    (row,) = answer(capsys, "inspect", path)["engines"]
    assert (row["part"], row["engine"], row["processor"]) == ("op 'layer'", "mirror", {})


def test_optimize_shows_a_table(capsys, file, tmp_path, mirror) -> None:
    code, out, _ = run(capsys, "optimize", file, "-o", str(tmp_path / "out.tpk"), "--engine", "mirror", "--size", "N=5")
    assert code == 0
    assert "chosen" in out
    assert out.splitlines()[-1].endswith("out.tpk written")


def test_an_engine_that_is_not_known_is_an_error(capsys, file, tmp_path) -> None:
    error = refused(capsys, 3, "optimize", file, "-o", str(tmp_path / "out.tpk"), "--engine", "turbo")
    assert "unknown engine 'turbo'" in error
    assert not (tmp_path / "out.tpk").exists()


def test_profile_shows_nodes_and_writes_a_trace(capsys, file, tmp_path) -> None:
    trace = tmp_path / "trace.json"
    found = answer(capsys, "profile", file, "--runs", "2", "--trace", str(trace))
    names = [step["name"] for step in found["steps"]]
    assert names == ["aten.linear.default", "torch.Tensor.tanh"]
    assert [event["name"] for event in json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]] == names
    assert "cannot write the file" in refused(
        capsys, 2, "profile", file, "--trace", str(tmp_path / "no" / "trace.json")
    )


def test_export_writes_an_onnx_model(capsys, file, tmp_path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime", reason="the extra 'onnx' is not installed")
    pytest.importorskip("onnxscript", reason="the extra 'onnx' is not installed")
    out = str(tmp_path / "layer.onnx")
    found = answer(capsys, "export", file, out)
    assert (found["out"], found["inputs"]) == (out, "golden examples")
    (result,) = onnxruntime.InferenceSession(out).run(None, {"x": FEED["x"].numpy()})
    torch.testing.assert_close(torch.from_numpy(result), tracepack.load(file).run(FEED))
