"""`run`, `verify` and `bench`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import tracepack
from tests.cli.commands import answer, damaged, feed, run
from tracepack.cli import exit_codes as exits
from tracepack.cli.input_files import plain_name


def test_run(
    capsys: pytest.CaptureFixture[str], file: str, arrays: list[str], mod: tracepack.Pipeline, tmp_path: Path
) -> None:
    target = tmp_path / "out.npz"
    found = answer(capsys, "run", file, *arrays, "--output", str(target))
    assert found["written"] == str(target)
    assert [row["name"] for row in found["outputs"]] == ["scores", "state[0]"]
    wanted = mod.run(feed())
    with np.load(target) as got:
        np.testing.assert_array_equal(got["scores"], wanted["scores"].numpy())
        np.testing.assert_array_equal(got["state[0]"], wanted["state"][0].numpy())


def test_run_shows_and_prints_values(
    capsys: pytest.CaptureFixture[str], file: str, arrays: list[str], mod: tracepack.Pipeline
) -> None:
    code, out, _ = run(capsys, "run", file, *arrays)
    assert code == 0
    assert "  scores    float32  3x3" in out
    found = answer(capsys, "run", file, *arrays)
    assert found["outputs"][0]["value"] == mod.run(feed())["scores"].tolist()


def test_inputs_from_json_and_npz(
    capsys: pytest.CaptureFixture[str], file: str, mod: tracepack.Pipeline, tmp_path: Path
) -> None:
    given = feed()
    np.savez(tmp_path / "x.npz", x=given["x"].numpy())
    nested = {"scale": 1.5, "state": [given["opts"]["state"][0].tolist()]}
    (tmp_path / "opts.json").write_text(json.dumps(nested))
    found = answer(
        capsys, "run", file, "--input", f"{tmp_path}/x.npz", "--input", f"opts={tmp_path}/opts.json"
    )  # fmt: skip
    assert found["outputs"][0]["value"] == mod.run(given)["scores"].tolist()


def test_text_and_numbers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = str(tmp_path / "scaled.tpk")
    tracepack.trace(lambda x, k: (x.bfloat16() * k).sum(0), torch.ones(3, 2), 2.0).save(path)
    found = answer(capsys, "run", path, "--value", "x=[[1, 2], [3, 4]]", "--value", "k=3")
    assert found["outputs"] == [{"name": "out", "dtype": "bfloat16", "shape": [2], "value": [12.0, 18.0]}]
    target = tmp_path / "out.npy"
    assert run(capsys, "run", path, "--value", "x=[[1,2]]", "--value", "k=2", "--output", str(target))[0] == 0
    np.testing.assert_array_equal(np.load(target), np.array([2, 4], "float32"))


def test_names_without_brackets() -> None:
    assert plain_name("batch['ids'][0]") == "batch.ids.0"
    assert plain_name('a["b"].c') == "a.b.c"


def test_verify(capsys: pytest.CaptureFixture[str], file: str) -> None:
    found = answer(capsys, "verify", file)
    assert found["passed"]
    assert found["examples"] == 2
    assert [(o["name"], o["largest_difference"], o["bit_equal"]) for o in found["outputs"]] == [
        ("scores", 0.0, True), ("state[0]", 0.0, True),
    ]  # fmt: skip
    code, out, _ = run(capsys, "verify", file)
    assert code == 0
    assert "5 of 5 members have the sha256 of the manifest" in out
    assert "2 golden examples" in out


def test_verify_finds_a_flipped_bit(capsys: pytest.CaptureFixture[str], file: str, tmp_path: Path) -> None:
    path = damaged(file, tmp_path / "bad.tpk", "weights.safetensors")
    code, out, err = run(capsys, "verify", path)
    assert (code, err) == (exits.FAILED, "")
    assert "4 of 5 members have the sha256" in out
    assert "altered: weights.safetensors" in out


def test_verify_finds_another_answer(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """An archive whose golden outputs are those of other weights."""
    from tracepack.serialization.container import archive_writer
    from tracepack.serialization.container.archive import Archive

    path = str(tmp_path / "skewed.tpk")
    tracepack.trace(lambda x: x * 2, torch.ones(3)).save(path, examples=[{"x": torch.ones(3)}])
    other = str(tmp_path / "other.tpk")
    tracepack.trace(lambda x: x + 2, torch.ones(3)).save(other, examples=[{"x": torch.ones(3)}])
    a, b = Archive(path), Archive(other)
    members = [archive_writer.member(n, (b if n == "examples.safetensors" else a).read(n)) for n in a.names()]
    fields = {key: value for key, value in a.manifest.items() if key != "members"}
    archive_writer.write(str(tmp_path / "mixed.tpk"), fields, members)
    code, out, _ = run(capsys, "verify", str(tmp_path / "mixed.tpk"))
    assert code == exits.FAILED
    assert "  out                      1     0.0001  DIFFERS" in out


def test_verify_without_examples(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = str(tmp_path / "plain.tpk")
    tracepack.trace(lambda x: x * 2, torch.ones(3)).save(path)
    code, out, _ = run(capsys, "verify", path)
    assert code == 0
    assert "no golden examples" in out


def test_bench(capsys: pytest.CaptureFixture[str], file: str) -> None:
    found = answer(capsys, "bench", file, "--runs", "5")
    assert (found["inputs"], found["feeds"], found["runs"]) == ("golden examples", 2, 5)
    assert 0 < found["min_s"] <= found["median_s"] <= found["p99_s"]
    assert found["load_s"] > 0
    code, out, _ = run(capsys, "bench", file, "--seconds", "0.05", "--size", "N=7")
    assert code == 0
    assert "random: x 7x4, opts['scale'] float32, opts['state'][0] 7x8" in out
    assert "throughput" in out


def test_bench_finds_sizes_that_the_guards_allow(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = str(tmp_path / "thirds.tpk")
    op = tracepack.script(lambda x: x.reshape(3, -1).sum(1), device="cpu", name="thirds")
    tracepack.trace(op, torch.rand(6)).save(path)
    assert answer(capsys, "bench", path, "--runs", "1")["inputs"] == "random"


def test_arrays_of_numpy_are_outputs_like_tensors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mod = tracepack.trace(lambda x: {"a": x.numpy() * 2, "n": x.numpy().sum()}, torch.ones(3, 2))
    mod.save(tmp_path / "a.tpk")
    np.save(tmp_path / "x.npy", np.ones((4, 2), np.float32))
    found = answer(capsys, "run", str(tmp_path / "a.tpk"), "--input", f"x={tmp_path}/x.npy")
    assert [(o["name"], o["dtype"], o["shape"], o["value"]) for o in found["outputs"]] == [
        ("a", "float32", [4, 2], [[2.0, 2.0]] * 4),
        ("n", "float32", [], 8.0),
    ]
