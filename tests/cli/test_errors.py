"""What goes wrong on the command line: one line, and an exit code that means something."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import tracepack
from tests.cli.commands import answer, damaged, refused, run
from tracepack.cli import exit_codes as exits
from tracepack.cli import main


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


def test_a_file_for_the_cpu_stays_there_whatever_device_is_asked_for(
    capsys: pytest.CaptureFixture[str], file: str
) -> None:
    with pytest.warns(UserWarning, match="nothing runs on cuda:77: all ops were scripted for the CPU; cpu_ops='gpu'"):
        assert run(capsys, "verify", file, "--device", "77")[0] == 0


@pytest.mark.skipif(torch.cuda.is_available(), reason="the op would run")
@pytest.mark.filterwarnings("ignore:this machine has no cuda")  # said once in a process
def test_options_have_the_form_of_the_command_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    op = tracepack.script(torch.nn.Linear(4, 2), device=0)
    path = str(tmp_path / "gpu.tpk")
    tracepack.trace(lambda x: op(x), torch.rand(2, 4)).save(path)
    err = refused(capsys, exits.DEVICE, "verify", path)
    assert "Pass --gpu-ops cpu to run it on the CPU." in err
    assert "or pass --gpu-ops cpu to move such ops" in refused(capsys, exits.DEVICE, "verify", path, "--device", "cpu")
    assert run(capsys, "verify", path, "--gpu-ops", "cpu")[0] == 0


def test_inputs_that_do_not_fit(capsys: pytest.CaptureFixture[str], file: str, arrays: list[str]) -> None:
    assert "input 'x': missing input; expected f32[" in refused(capsys, exits.RUN, "run", file)
    assert "input 'y': unknown input" in refused(capsys, exits.RUN, "run", file, *arrays, "--value", "y=1")
    err = refused(capsys, exits.RUN, "run", file, "--value", "x=[1]", *arrays[2:])
    assert "input 'x'" in err
    err = refused(capsys, exits.RUN, "run", file, "--value", "x=[[1],[2,3]]", *arrays[2:])
    assert "input 'x': lists are of different lengths" in err


def test_files_that_cannot_be_read(capsys: pytest.CaptureFixture[str], file: str, tmp_path: Path) -> None:
    err = refused(capsys, exits.USAGE, "run", file, "--input", "x=none.npy")
    assert err == "tracepack: 'none.npy': cannot read the file; got No such file or directory\n"
    (tmp_path / "x.npy").write_bytes(b"no array")
    assert "cannot read the file" in refused(capsys, exits.USAGE, "run", file, "--input", f"x={tmp_path}/x.npy")
    assert "not JSON" in refused(capsys, exits.USAGE, "run", file, "--value", "x=[1")
    assert "inputs cannot be read from a file of this kind" in refused(
        capsys, exits.USAGE, "run", file, "--input", "x=a.png"
    )
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
    assert "Pass --trust if you" in refused(capsys, exits.TRUST, "verify", path)
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
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    for code, meaning in exits.MEANINGS.items():
        assert f"{code}  {meaning}" in out
        assert f"| {code} | {meaning} |" in page.replace("`", "")


def test_a_fault_of_ours_is_one_line(
    capsys: pytest.CaptureFixture[str], file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracepack.cli.commands.inspect._data", lambda *_: 1 / 0)
    err = refused(capsys, exits.INTERNAL, "inspect", file)
    assert "internal error: ZeroDivisionError: division by zero" in err
    monkeypatch.setenv("TRACEPACK_TRACEBACK", "1")
    code, out, err = run(capsys, "inspect", file)
    assert (code, out) == (exits.INTERNAL, "")
    assert err.startswith("Traceback (most recent call last):\n")
    assert err.splitlines()[-2:-1] == ["ZeroDivisionError: division by zero"]
    assert err.splitlines()[-1].startswith("tracepack: internal error: ZeroDivisionError")


def test_every_error_has_an_exit_code() -> None:
    kinds = [getattr(tracepack, name) for name in tracepack.__all__ if name.endswith("Error")]
    assert {exits.exit_code(kind("x")) for kind in kinds} == {1, 2, 3, 4, 5, 6, 7}
