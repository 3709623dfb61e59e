"""The command line and what it is connected to: a terminal, a pipe, a signal."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

import tracepack
from tests.cli.commands import run
from tracepack.cli import exit_codes as exits


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
