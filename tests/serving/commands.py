"""Runs ``tracepack serve`` as a process of its own."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ENDS = 60  # seconds after which a process that should have ended or started has failed


@dataclass
class Running:
    """A server: its process, its addresses, and the file of its standard error."""

    process: subprocess.Popen
    url: str
    rpc: str | None
    log: Path

    def workers(self) -> list[int]:
        """The processes that a supervisor started, the one that waits to replace another among them."""
        found = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text(encoding="utf-8")
        return [int(number) for number in found.split()]


@contextmanager
def served(folder: Path, *arguments: Any, early: Sequence[int] = (), **environment: str) -> Iterator[Running]:
    """A server on free ports, ready; it is ended with SIGTERM where the test did not end it.

    Args:
        folder: gets its log.
        arguments: of the command.
        early: signals that are sent as soon as it catches them, long before it is ready.
        environment: beside that of the test.
    """
    log = folder / "server.log"
    command = [sys.executable, "-m", "tracepack", "serve", *map(str, arguments), "--http-port", "0", "--grpc-port", "0"]
    with log.open("w") as errors:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        )  # fmt: skip
    try:
        for number in early:
            until(lambda number=number: catches(process.pid, number))
            process.send_signal(number)
        ready, _, _ = select.select([process.stdout], [], [], ENDS)
        line = process.stdout.readline() if ready else ""
        assert line, f"the server did not start: {log.read_text(encoding='utf-8')}"
        row = json.loads(line)
        yield Running(process, row["serving"], row["grpc"], log)
    finally:
        process.terminate()
        try:
            process.wait(ENDS)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        process.stdout.close()


def catches(process: int, number: int) -> bool:
    """Whether a process has a handler for a signal."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return bool(int(status.partition("SigCgt:")[2].split()[0], 16) >> (number - 1) & 1)


def until(condition: Any, seconds: float = ENDS) -> Any:
    """What a condition gives as soon as that is something; an error where it never is."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it never came to be"
        time.sleep(0.02)
    return found
