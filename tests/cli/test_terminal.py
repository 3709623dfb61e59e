"""The command line and what it is connected to: a terminal, a pipe, a signal."""

from __future__ import annotations

import io
import json
import os
import pty
import shlex
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

import tracepack
from tests.cli.commands import process, run
from tracepack.cli import exit_codes as exits
from tracepack.cli import main


def test_names_from_a_file_reach_no_terminal(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = str(tmp_path / "evil.tpk")
    op = tracepack.script(torch.nn.Linear(2, 2), device="cpu", name="a\x1b[31mb")
    tracepack.trace(op, torch.ones(1, 2)).save(path)
    for command in (["inspect", path], ["show", path], ["show", path, "--svg", "-"]):
        code, out, _ = run(capsys, *command)
        assert code == 0
        assert "\x1b" not in out
        assert "a\\x1b[31mb" in out


FALSE = {
    "\x1b[31mRED\x1b[0m": "v", "\u202eabc": "1", "trust\nsigned by": "Bob", "warning": "none",
    "note": "a\ntrust     signed\x1b[2J",
}  # fmt: skip


def test_metadata_of_a_file_cannot_look_like_other_lines(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path, plain = str(tmp_path / "meta.tpk"), str(tmp_path / "plain.tpk")
    pipeline = tracepack.trace(lambda x: x + 1, torch.ones(3))
    pipeline.save(path, metadata=FALSE)
    pipeline.save(plain)
    code, out, _ = run(capsys, "inspect", path)
    assert code == 0
    assert out.replace("\n", "").isprintable()
    lines = out.splitlines()
    for name, value in (("\\x1b[31mRED\\x1b[0m", "v"), ("\\u202eabc", "1"), ("trust\\nsigned by", "Bob")):
        assert f"  {name:<18}  {value}" in lines
    assert len(lines) == len(run(capsys, "inspect", plain)[1].splitlines()) + len(FALSE) + len(["", "metadata", "name"])
    assert not any(line.startswith(("trust ", "warning ")) for line in lines)
    shown = json.loads(run(capsys, "inspect", path, "--json")[1])
    assert shown["metadata"] == FALSE


def test_metadata_on_a_coloured_terminal(tmp_path: Path) -> None:
    pytest.importorskip("rich")
    path = str(tmp_path / "meta.tpk")
    tracepack.trace(lambda x: x + 1, torch.ones(3)).save(path, metadata=FALSE)
    shown = io.StringIO()
    shown.isatty = lambda: True
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_COLOR", "1")
        patch.setenv("TERM", "dumb")
        patch.setenv("COLUMNS", "100")
        patch.setattr("sys.stdout", shown)
        assert main(["inspect", path]) == 0
    assert "\\x1b[31mRED" in shown.getvalue()
    assert f"{'note':<19} a\\ntrust     signed\\x1b[2J" in shown.getvalue()
    assert shown.getvalue().replace("\n", "").isprintable()


def test_a_line_of_source_cannot_look_like_a_node() -> None:
    from tracepack.ops.graph.graph import Graph, Node, Operator, SourceLine, Value
    from tracepack.ops.graph.text import graph_text
    from tracepack.ops.graph.types import TensorType

    x, y = (Value(TensorType("float32", (3,))) for _ in range(2))
    line = SourceLine("a.py", 1, "f", "relu\n  %9: f32[3] = aten.exit()")
    text = graph_text(Graph((x,), (Node(Operator("aten.relu.default"), (x,), {}, y, line),), y), lines=True)
    assert len(text.splitlines()) == 3
    assert "relu\\n  %9: f32[3]" in text


def test_ops_of_one_name(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = str(tmp_path / "two.tpk")
    ops = [tracepack.script(torch.nn.Linear(3, size), device="cpu") for size in (4, 5)]
    ops.append(tracepack.script(torch.nn.Linear(3, 6), device="cpu", name="Linear#2"))
    pipeline = tracepack.trace(lambda x: [op(x) for op in ops], torch.ones(2, 3))
    pipeline.save(path)
    names = ["Linear", "Linear#2", "Linear#2#2"]
    assert list(pipeline.placement) == names
    assert [op["name"] for op in json.loads(run(capsys, "inspect", path, "--json")[1])["ops"]] == names
    for name, size in zip(names, (4, 5, 6), strict=True):
        code, out, _ = run(capsys, "show", path, "--op", name)
        assert code == 0
        assert f"f32[N,{size}] = aten.linear.default" in out
        assert json.loads(run(capsys, "show", path, "--op", name, "--json")[1])["name"] == f"{name} @cpu"
    assert "expected one of Linear, Linear#2, Linear#2#2" in run(capsys, "show", path, "--op", "no")[2]


def test_a_warning_is_one_line(capsys: pytest.CaptureFixture[str], file: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda *given: sys.stderr.write(warnings.formatwarning(*given[:4]))
        code, _, err = run(capsys, "verify", file, "--device", "77")
    assert code == 0
    assert err.startswith("tracepack: warning: ")
    assert "nothing runs on cuda:77" in err
    assert err.count("\n") == 1


# -- streams that take no Unicode, are full, or closed ------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_stream_of_few_characters(file: str, tmp_path: Path, encoding: str) -> None:
    path = str(tmp_path / "meta.tpk")
    tracepack.trace(lambda x: x + 1, torch.ones(3)).save(path, metadata={"ü": "日本"})
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    for options in ([], ["--json"]):
        done = process(["-m", "tracepack", "inspect", path, *options], env=environment, encoding="latin-1")
        assert (done.returncode, done.stderr) == (0, "")
        assert "\\u65e5\\u672c" in done.stdout
        if options:
            assert json.loads(done.stdout)["metadata"] == {"ü": "日本"}


def shell(file: str, redirection: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = f"{shlex.quote(sys.executable)} -m tracepack inspect {shlex.quote(file)} {redirection}"
    environment = {**os.environ, **variables}
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, env=environment)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")
def test_a_full_stream(file: str) -> None:
    done = shell(file, "> /dev/full")
    wanted = "tracepack: cannot write to standard output; got No space left on device\n"
    assert (done.returncode, done.stderr) == (exits.USAGE, wanted)
    assert shell("none.tpk", "2> /dev/full").returncode == exits.ARCHIVE


def test_closed_streams(file: str) -> None:
    done = shell(file, ">&-")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert shell("none.tpk", "2>&-").returncode == exits.ARCHIVE
    assert shell("none.tpk", ">&- 2>&-").returncode == exits.ARCHIVE


def test_the_traceback_changes_no_exit_code() -> None:
    done = shell("none.tpk", "", TRACEPACK_TRACEBACK="1")
    assert done.returncode == exits.ARCHIVE
    assert done.stderr.startswith("Traceback (most recent call last):\n")
    assert done.stderr.endswith("\ntracepack: 'none.tpk': there is no such file\n")


def test_an_archive_from_a_pipe_is_refused(file: str) -> None:
    done = shell("/dev/stdin", f"< <(cat {shlex.quote(file)})")
    assert done.returncode == exits.ARCHIVE
    assert done.stderr.startswith("tracepack: '/dev/stdin': a pipe or a device, not a file; expected")


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
    command = f"{shlex.quote(sys.executable)} -m tracepack show {shlex.quote(file)} | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def wait_until_it_runs(process: Any, file: str) -> None:
    """Until it has mapped the file, which comes after all imports; elsewhere than on Linux some time instead."""
    maps = Path("/proc", str(process.pid), "maps")
    for _ in range(600 if maps.exists() else 60):
        time.sleep(0.1)
        if maps.exists() and file in maps.read_text(encoding="utf-8"):
            return
    assert not maps.exists(), "the command never mapped its file"


def test_ctrl_c_is_quiet(file: str) -> None:
    command = [sys.executable, "-m", "tracepack", "bench", file, "--seconds", "60"]
    # A shell's background job, as this test may be, ignores the signal, and so would its children.
    heeding: dict[str, Any] = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, **heeding) as running:
        wait_until_it_runs(running, file)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=30)
    assert (running.returncode, out, err) == (exits.INTERRUPTED, "", "")
