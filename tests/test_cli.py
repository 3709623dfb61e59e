"""The command line: what it prints, its exit codes, and that reading needs no torch."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tracepack
from tracepack.cli import exits, main
from tracepack.cli.feeding import plain_name


@pytest.fixture(scope="module")
def mod() -> tracepack.Pipeline:
    torch.manual_seed(0)
    cell = tracepack.script(torch.nn.GRUCell(4, 8), device="cpu", name="cell")
    head = tracepack.script(torch.nn.Linear(8, 3), device="cpu", name="head")

    def process(x: Any, opts: Any) -> Any:
        h = cell(cell_input := x * opts["scale"], opts["state"][0])
        return {"scores": head(cell(cell_input, h)), "state": (h,)}

    return tracepack.trace(process, torch.rand(2, 4), {"scale": torch.tensor(2.0), "state": [torch.rand(2, 8)]})


def feed(count: int = 3) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(1)
    state = torch.rand(count, 8, generator=generator)
    return {"x": torch.rand(count, 4, generator=generator), "opts": {"scale": torch.tensor(1.5), "state": [state]}}


@pytest.fixture(scope="module")
def file(mod: tracepack.Pipeline, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("cli") / "cell.tpk"
    mod.save(path, examples=[feed(3), feed(5)])
    return str(path)


@pytest.fixture
def arrays(tmp_path: Path) -> list[str]:
    given = feed()
    np.save(tmp_path / "x.npy", given["x"].numpy())
    np.save(tmp_path / "h.npy", given["opts"]["state"][0].numpy())
    return [
        "--input", f"x={tmp_path}/x.npy", "--input", f"opts.state.0={tmp_path}/h.npy", "--value", "opts['scale']=1.5",
    ]  # fmt: skip


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    code, out, err = run(capsys, *arguments, "--json")
    assert (code, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


def process(arguments: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, **options)


# -- inspect ---------------------------------------------------------------------------------------------------


def test_inspect(capsys: pytest.CaptureFixture[str], file: str, mod: tracepack.Pipeline) -> None:
    found = answer(capsys, "inspect", file)
    assert found["signature"] == mod.signature
    assert [row["name"] for row in found["inputs"]] == ["x", "opts['scale']", "opts['state'][0]"]
    cell, head = found["ops"]
    assert (cell["name"], cell["device"], cell["calls"]) == ("cell", "cpu", 2)
    assert (head["name"], head["calls"], head["operators"], head["bytes"]) == ("head", 1, 1, (8 * 3 + 3) * 4)
    assert found["constants"]["bytes"] == sum(op["bytes"] for op in found["ops"])
    assert found["bytes"] == os.path.getsize(file)
    assert (found["format"], found["examples"], found["needs_trust"]) == ("1.0", 2, False)
    assert found["producer"]["torch"] == torch.__version__
    assert all(len(row["sha256"]) == 64 for row in found["members"])


def test_inspect_as_text(capsys: pytest.CaptureFixture[str], file: str) -> None:
    code, out, _ = run(capsys, "inspect", file)
    assert code == 0
    assert "pipeline  process, 4 nodes" in out
    assert "\n  opts['state'][0]  f32[" in out
    assert "  head  graph  cpu         1          1    108 B" in out


@pytest.mark.parametrize("command", [["inspect"], ["show", "--bodies"], ["show", "--svg", "-"]], ids=" ".join)
def test_reading_needs_no_torch(file: str, command: list[str]) -> None:
    code = "import sys; sys.modules['torch'] = None; from tracepack.cli import main; sys.exit(main(sys.argv[1:]))"
    done = process(["-c", code, *command, file])
    assert (done.returncode, done.stderr) == (0, "")
    watched = "import sys; from tracepack.cli import main; main(sys.argv[1:]); sys.exit('torch' in sys.modules)"
    assert process(["-c", watched, *command, file]).returncode == 0


def test_running_without_torch_says_so(file: str) -> None:
    code = "import sys; sys.modules['torch'] = None; from tracepack.cli import main; sys.exit(main(sys.argv[1:]))"
    done = process(["-c", code, "verify", file])
    assert done.returncode == exits.MISSING
    assert done.stderr == "tracepack: verify needs torch, which is not installed. Install torch.\n"


# -- show ------------------------------------------------------------------------------------------------------


def test_show(capsys: pytest.CaptureFixture[str], file: str, mod: tracepack.Pipeline) -> None:
    code, out, _ = run(capsys, "show", file)
    assert (code, out) == (0, f"{mod.graph}\n")


def test_show_one_op(capsys: pytest.CaptureFixture[str], file: str) -> None:
    _, out, _ = run(capsys, "show", file, "--op", "head")
    assert "aten.linear.default(%0, $weight, $bias)" in out


def test_show_bodies_and_lines(capsys: pytest.CaptureFixture[str], file: str) -> None:
    _, out, _ = run(capsys, "show", file, "--bodies", "--lines")
    assert "    | graph(%0: f32[N,4], %1: f32[N,8]):" in out
    assert "# test_cli.py:" in out


def test_an_unknown_op(capsys: pytest.CaptureFixture[str], file: str) -> None:
    code, out, err = run(capsys, "show", file, "--op", "tail")
    assert (code, out) == (exits.USAGE, "")
    assert err == "tracepack: no op is named 'tail'; got None; expected one of cell, head\n".replace("; got None", "")


def test_the_picture(capsys: pytest.CaptureFixture[str], file: str, tmp_path: Path) -> None:
    target = tmp_path / "cell.svg"
    code, out, _ = run(capsys, "show", file, "--svg", str(target), "--bodies")
    assert (code, out) == (0, f"{target}: 4 nodes\n")
    root = ET.fromstring(target.read_text())
    texts = ["".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("cell") == 2
    assert {"process", "head", "@cpu", "scores", "state[0]", "opts['scale']", "f32[N,3]", "linear"} <= set(texts)
    wide, high = float(root.attrib["width"]), float(root.attrib["height"])
    for box in root.iter("{http://www.w3.org/2000/svg}rect"):
        assert float(box.attrib["x"]) + float(box.attrib["width"]) <= wide
        assert float(box.attrib["y"]) + float(box.attrib["height"]) <= high


def test_boxes_of_a_picture_do_not_overlap() -> None:
    from tracepack.cli.layout import Box, lay_out

    rng = np.random.default_rng(0)
    boxes = [Box(float(rng.integers(20, 120)), float(rng.integers(20, 60))) for _ in range(40)]
    edges = [(a, b) for b in range(1, 40) for a in sorted(set(rng.integers(max(0, b - 9), b, 2).tolist()))]
    layout = lay_out(boxes, edges)
    for a, b in edges:
        assert boxes[a].bottom < boxes[b].y
    for i, one in enumerate(boxes):
        assert one.x >= 0
        assert one.x + one.width <= layout.width
        for other in boxes[i + 1 :]:
            apart = one.x + one.width <= other.x or other.x + other.width <= one.x
            assert apart or one.bottom <= other.y or other.bottom <= one.y


# -- run -------------------------------------------------------------------------------------------------------


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


# -- verify and bench --------------------------------------------------------------------------------------------


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


def damaged(file: str, target: Path, member: str) -> str:
    """A copy with one bit of a member flipped."""
    from tracepack.serialization.archive import Archive

    data = bytearray(Path(file).read_bytes())
    data[Archive(file).offset(member) + Archive(file).view(member).nbytes - 1] ^= 1
    target.write_bytes(data)
    return str(target)


def test_verify_finds_a_flipped_bit(capsys: pytest.CaptureFixture[str], file: str, tmp_path: Path) -> None:
    path = damaged(file, tmp_path / "bad.tpk", "weights.safetensors")
    code, out, err = run(capsys, "verify", path)
    assert (code, err) == (exits.FAILED, "")
    assert "4 of 5 members have the sha256" in out
    assert "altered: weights.safetensors" in out


def test_verify_finds_another_answer(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """An archive whose golden outputs are those of other weights."""
    import tracepack.serialization.archive as archives

    path = str(tmp_path / "skewed.tpk")
    tracepack.trace(lambda x: x * 2, torch.ones(3)).save(path, examples=[{"x": torch.ones(3)}])
    other = str(tmp_path / "other.tpk")
    tracepack.trace(lambda x: x + 2, torch.ones(3)).save(other, examples=[{"x": torch.ones(3)}])
    a, b = archives.Archive(path), archives.Archive(other)
    members = [archives.member(n, (b if n == "examples.safetensors" else a).read(n)) for n in a.names()]
    fields = {key: value for key, value in a.manifest.items() if key != "members"}
    archives.write(str(tmp_path / "mixed.tpk"), fields, members)
    code, out, _ = run(capsys, "verify", str(tmp_path / "mixed.tpk"))
    assert code == exits.FAILED
    assert "  out                      1  DIFFERS" in out


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


# -- errors ------------------------------------------------------------------------------------------------------


def refused(capsys: pytest.CaptureFixture[str], code: int, *arguments: str) -> str:
    got, out, err = run(capsys, *arguments)
    assert (got, out) == (code, "")
    assert err.startswith("tracepack: ")
    assert err.count("\n") == 1
    return err


def test_a_missing_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, exits.ARCHIVE, "inspect", "none.tpk") == "tracepack: 'none.tpk': there is no such file\n"


@pytest.mark.parametrize("command", ["inspect", "show", "verify", "bench", "run"])
def test_a_foreign_file(capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str) -> None:
    path = tmp_path / "text.tpk"
    path.write_text("hello, I am not a zip")
    assert "not a tracepack archive" in refused(capsys, exits.ARCHIVE, command, str(path))


def test_an_altered_graph(capsys: pytest.CaptureFixture[str], file: str, tmp_path: Path) -> None:
    path = damaged(file, tmp_path / "bad.tpk", "graphs/main.msgpack")
    err = refused(capsys, exits.ARCHIVE, "show", path)
    assert "graphs/main.msgpack" in err
    assert "altered" in err


def test_a_device_that_is_none(capsys: pytest.CaptureFixture[str], file: str) -> None:
    assert "not a device; got 'tpu'" in refused(capsys, exits.DEVICE, "verify", file, "--device", "tpu")
    assert "this machine has no cuda:77" in refused(capsys, exits.DEVICE, "verify", file, "--device", "77")


def test_inputs_that_do_not_fit(capsys: pytest.CaptureFixture[str], file: str, arrays: list[str]) -> None:
    assert "input 'x': missing input; expected f32[" in refused(capsys, exits.RUN, "run", file)
    assert "input 'y': unknown input" in refused(capsys, exits.RUN, "run", file, *arrays, "--value", "y=1")
    err = refused(capsys, exits.RUN, "run", file, "--value", "x=[1]", *arrays[2:])
    assert "input 'x'" in err
    err = refused(capsys, exits.RUN, "run", file, "--value", "x=[[1],[2,3]]", *arrays[2:])
    assert "input 'x': not a tensor" in err


def test_files_that_cannot_be_read(capsys: pytest.CaptureFixture[str], file: str, tmp_path: Path) -> None:
    err = refused(capsys, exits.USAGE, "run", file, "--input", "x=none.npy")
    assert err == "tracepack: 'none.npy': cannot read the file; got No such file or directory\n"
    (tmp_path / "x.npy").write_bytes(b"no array")
    assert "cannot read the file" in refused(capsys, exits.USAGE, "run", file, "--input", f"x={tmp_path}/x.npy")
    assert "not JSON" in refused(capsys, exits.USAGE, "run", file, "--value", "x=[1")
    assert "not a kind of file" in refused(capsys, exits.USAGE, "run", file, "--input", "x=a.png")
    assert "given twice" in refused(capsys, exits.USAGE, "run", file, "--value", "x=1", "--value", "x=2")


def test_an_array_of_objects_is_not_unpickled(capsys: pytest.CaptureFixture[str], file: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([{}], dtype=object))
    assert "allow_pickle" in refused(capsys, exits.USAGE, "run", file, "--input", f"x={tmp_path}/x.npy")


def test_outputs_that_cannot_be_written(
    capsys: pytest.CaptureFixture[str], file: str, arrays: list[str], tmp_path: Path
) -> None:
    assert "expected .npz, .npy or .json" in refused(capsys, exits.USAGE, "run", file, *arrays, "--output", "out.csv")
    missing = str(tmp_path / "none" / "out.npz")
    assert "cannot write the file" in refused(capsys, exits.USAGE, "run", file, *arrays, "--output", missing)
    several = str(tmp_path / "out.npy")
    assert "this pipeline has 2" in refused(capsys, exits.USAGE, "run", file, *arrays, "--output", several)
    assert not (tmp_path / "out.npy").exists()


def test_trust(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path, source = str(tmp_path / "opaque.tpk"), tmp_path / "opaque.py"
    source.write_text(OPAQUE)
    subprocess.run([sys.executable, str(source), path], check=True, capture_output=True)
    assert answer(capsys, "inspect", path)["needs_trust"]
    assert "op 'shout' is kept as torchscript" in refused(capsys, exits.TRUST, "bench", path)
    assert "Pass trust=True" in refused(capsys, exits.TRUST, "verify", path)
    assert answer(capsys, "bench", path, "--trust", "--runs", "1")["runs"] == 1


OPAQUE = """
import sys, warnings
warnings.simplefilter("ignore")
import torch, tracepack

class Shout(torch.nn.Module):
    def forward(self, x):
        words = ["a", "bc"]
        text = ""
        while len(text) < int(x.sum()):
            text += words[len(text) % 2].upper()
        return x * len(text)

op = tracepack.script(torch.jit.script(Shout()), device="cpu", name="shout")
tracepack.trace(lambda x: op(x), torch.ones(2)).save(sys.argv[1])
"""


def test_usage(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["polish", "x.tpk"], ["bench", "x.tpk", "--runs", "0"], ["bench", "x.tpk", "--size", "N"]):
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        assert stopped.value.code == exits.USAGE
    assert "'N' is not NAME=NUMBER" in capsys.readouterr().err


def test_help_lists_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    out = capsys.readouterr().out
    page = (Path(__file__).parent.parent / "docs" / "cli.md").read_text()
    for code, meaning in exits.MEANINGS.items():
        assert f"{code}  {meaning}" in out
        assert f"| {code} | {meaning} |" in page.replace("`verify`", "verify").replace("`--trust`", "--trust")


def test_a_fault_of_ours_is_one_line(
    capsys: pytest.CaptureFixture[str], file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracepack.cli.inspecting._data", lambda *_: 1 / 0)
    err = refused(capsys, exits.INTERNAL, "inspect", file)
    assert "internal error: ZeroDivisionError: division by zero" in err
    monkeypatch.setenv("TRACEPACK_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        main(["inspect", file])


def test_every_error_has_an_exit_code() -> None:
    kinds = [getattr(tracepack, name) for name in tracepack.__all__ if name.endswith("Error")]
    assert {exits.exit_code(kind("x")) for kind in kinds} == {1, 3, 4, 5, 6, 7}


# -- the terminal ------------------------------------------------------------------------------------------------


def test_names_from_a_file_reach_no_terminal(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = str(tmp_path / "evil.tpk")
    op = tracepack.script(torch.nn.Linear(2, 2), device="cpu", name="a\x1b[31mb")
    tracepack.trace(op, torch.ones(1, 2)).save(path)
    for command in (["inspect", path], ["show", path], ["show", path, "--svg", "-"]):
        code, out, _ = run(capsys, *command)
        assert code == 0
        assert "\x1b" not in out
        assert "a\\x1b[31mb" in out


def test_on_a_terminal_it_is_coloured(file: str) -> None:
    pytest.importorskip("rich")
    pytest.importorskip("pty")
    main_end, other_end = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    environment.pop("NO_COLOR", None)
    command = [sys.executable, "-m", "tracepack", "show", file]
    with subprocess.Popen(command, stdout=other_end, stderr=subprocess.PIPE, env=environment) as running:
        os.close(other_end)
        out = b""
        while True:
            try:
                chunk = os.read(main_end, 65536)
            except OSError:
                break
            if not chunk:
                break
            out += chunk
        assert running.wait() == 0
    os.close(main_end)
    assert b"\x1b[" in out
    assert b"return" in out


def test_a_reader_that_leaves(file: str) -> None:
    command = f"{sys.executable} -m tracepack show {file} | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_ctrl_c_is_quiet(file: str) -> None:
    command = [sys.executable, "-m", "tracepack", "bench", file, "--seconds", "60"]
    # A shell's background job, as this test may be, ignores the signal, and so would its children.
    heeding: dict[str, Any] = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, **heeding) as running:
        time.sleep(6)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=30)
    assert (running.returncode, out, err) == (exits.INTERRUPTED, "", "")
