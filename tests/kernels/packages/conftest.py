"""A fresh process for each code of a test, which finds the packages that the test wrote."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .written import Run

# A process that has imported torch and nothing of a test; each code runs in a fork of it, which saves its start.
PARENT = """
import json, os, sys, traceback
import torch, tracepack
torch.set_num_threads(1)
tracepack.trace(lambda x: x + 1, torch.ones(2))  # imports what every trace does
for line in sys.stdin:
    folder, code, answer = json.loads(line)
    if os.fork() == 0:
        status = 0
        os.chdir(folder)
        sys.path.insert(0, folder)
        with open(answer, "w") as sys.stdout:
            sys.stderr = sys.stdout
            try:
                exec(compile(code, "<code>", "exec"), {"torch": torch, "tracepack": tracepack, "__name__": "__main__"})
            except BaseException:
                traceback.print_exc()
                status = 1
            sys.stdout.flush()
        os._exit(status)
    print(os.wait()[1], flush=True)
"""


@pytest.fixture(scope="module")
def parent() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", PARENT]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.stdin.close()


@pytest.fixture
def run(tmp_path: Path, parent: subprocess.Popen[str]) -> Run:
    """Runs code in a fresh process that finds the packages of this test, and returns what it prints."""

    def run(code: str) -> str:
        answer = tmp_path / "answer.txt"
        parent.stdin.write(json.dumps([str(tmp_path), code, str(answer)]) + "\n")
        parent.stdin.flush()
        assert parent.stdout.readline() == "0\n", answer.read_text(encoding="utf-8")
        return answer.read_text(encoding="utf-8")

    return run
