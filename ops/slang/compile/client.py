"""The client of `worker.py`: sends requests to the compiler's process, and restarts it when it has ended."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
import time
from typing import Any

from ..language.errors import SlangCompileError
from .slangc import package_directory

TIMEOUT = 120.0
"""Seconds after which a compilation is ended; SlangPy's own module takes 3."""

TOO_LONG = "the Slang compiler did not return within"
"""How the message of a compilation that was ended begins."""

_START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
_START += "from tracepack.ops.slang.compile.worker import main; main()"
_FIX = "This is a fault of the Slang compiler: write the function another way, loops and interfaces first."


class Service:
    """Compiles by asking one process at a time; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._used = 0.0
        self._asked = 0

    def ask(self, **request: Any) -> dict[str, Any]:
        """The answer to one request.

        Raises:
            SlangCompileError: Slang refused the source, crashed on it, or did not return in time.
            MissingExtraError: slangpy is not installed.
        """
        package_directory()
        with self._lock:
            try:
                reply = self._reply(request)
            except BaseException:  # after an interrupt, an answer may be on its way that belongs to no later request
                self._stop()
                raise
            if reply["last"]:  # it ends itself, and would take the next request with it
                self._stop()
        if "error" in reply:
            raise SlangCompileError(**reply["error"])
        return dict(reply["answer"])

    def _reply(self, request: dict[str, Any]) -> dict[str, Any]:
        self._asked += 1
        process = self._running()
        self._send(process, {"number": self._asked, **request})
        while True:
            reply: dict[str, Any] = json.loads(self._receive(process))
            if reply["number"] == self._asked:
                self._used = time.monotonic()
                return reply

    def _running(self) -> subprocess.Popen[bytes]:
        # A process that is about to end because it was idle would lose the request.
        idle = time.monotonic() - self._used > 10
        if self._process is not None and (idle or self._process.poll() is not None):
            self._stop()
        if self._process is None:
            command = [sys.executable, "-c", _START, json.dumps(sys.path)]
            # In a session of its own it does not get the Ctrl-C of the terminal.
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                env={name: value for name, value in os.environ.items() if name != "LD_PRELOAD"},  # a sanitizer is ours
            )
        return self._process

    @staticmethod
    def _send(process: subprocess.Popen[bytes], request: dict[str, Any]) -> None:
        assert process.stdin is not None
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()

    def _receive(self, process: subprocess.Popen[bytes]) -> bytes:
        assert process.stdout is not None
        deadline = time.monotonic() + TIMEOUT
        line = b""
        poll = select.poll()  # select() refuses the numbers of files from 1024 on
        poll.register(process.stdout, select.POLLIN)
        while not line.endswith(b"\n"):
            ready = poll.poll(max(deadline - time.monotonic(), 0) * 1000)
            part = os.read(process.stdout.fileno(), 1 << 20) if ready else b""
            if not part:
                how = "the Slang compiler crashed" if ready else f"{TOO_LONG} {TIMEOUT:.0f} s"
                raise SlangCompileError(f"{how} on this source", fix=_FIX)
            line += part
        return line

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()


_service = Service()
os.register_at_fork(after_in_child=_service.__init__)  # type: ignore[misc]  # mypy cannot follow the dynamic class


def ask(**request: Any) -> dict[str, Any]:
    """The answer to one request, see `worker.answer`."""
    return _service.ask(**request)
