"""The supervisor: starts workers that share the ports, and starts another one where one ends. It imports no torch.

The socket of HTTP belongs to the supervisor, and workers inherit it: a connection that no worker has taken yet outlives
any of them. gRPC makes its sockets itself, one in each worker, on a port that the supervisor reserves. A worker hears
of changes to the repository by a channel of its own, and ends where its supervisor has.

One more process than there are workers waits with torch imported: a worker that ends is replaced by it at once, where
the import takes seconds, and on a busy machine many.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from prometheus_client.multiprocess import mark_process_dead

from ...ops.graph import errors
from .launch import LaunchOptions
from .listening import describe, listen, log_to_stderr, reserve
from .sources_of_models import find_models

log = logging.getLogger("tracepack.serving")

WORKER = "tracepack.serving.process.worker_process"
LONGEST_PAUSE = 5.0  # seconds before a worker is started again that ended before it was ready
_RELOAD = b'{"do": "reload"}\n'
GRACE = 5.0  # seconds beyond those for draining, after which a worker is killed


def supervise(options: LaunchOptions, say: Callable[[str], None]) -> None:
    """Serves until a signal comes.

    Args:
        options: of the server, with the number of workers.
        say: called with the line that says where it listens, once all workers are ready.

    Raises:
        TracepackError: a worker could not start; OSError: a port is taken.
    """
    log_to_stderr(bool(options.settings.get("log_requests")))
    find_models(options.paths)  # a path that is wrong is an error before any process is started
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(listen(options.host, options.http_port))
        if options.grpc_port is not None:
            reserved = stack.enter_context(reserve(options.host, options.grpc_port))
            options = replace(options, grpc_port=reserved.getsockname()[1])
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tracepack-metrics-"))
        asyncio.run(_Supervisor(options, listening, folder, say).run())


@dataclass(eq=False)
class _Worker:
    """A process, and the channel to it."""

    process: asyncio.subprocess.Process
    reader: asyncio.StreamReader
    channel: asyncio.StreamWriter
    ready: bool = False


class _Supervisor:
    """What keeps the workers alive.

    Args:
        options: of the server.
        listening: the socket of HTTP.
        folder: where workers keep their metrics, so that each can give those of all.
        say: called once all workers are ready.
    """

    def __init__(
        self, options: LaunchOptions, listening: socket.socket, folder: str, say: Callable[[str], None]
    ) -> None:
        self._options, self._listening, self._say = options, listening, say
        self._environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": folder}
        self._workers: set[_Worker] = set()
        self._unloaded: dict[str, None] = {}
        self._spare: asyncio.Task[_Worker] | None = None
        self._said = self._ending = False

    async def run(self) -> None:
        """Keeps the workers until a signal comes, or until the first of them cannot start."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._end)
        loop.add_signal_handler(signal.SIGHUP, self._reload)
        kept = [loop.create_task(self._keep()) for _ in range(self._options.workers)]
        try:
            await asyncio.gather(*kept)
        finally:
            self._end()
            for task in kept:
                task.cancel()
            await asyncio.gather(*kept, return_exceptions=True)
            if (spare := await self._waiting()) is not None:
                self._workers.add(spare)
                self._signal(signal.SIGTERM)
            for worker in self._workers:
                await self._reap(worker)

    def _end(self) -> None:
        self._ending = True
        self._signal(signal.SIGTERM)

    def _reload(self) -> None:
        """Tells the workers to take new files, by their channels: a signal would end one that has only just begun."""
        for worker in self._workers:
            worker.channel.write(_RELOAD)

    def _signal(self, number: int) -> None:
        for worker in self._workers:
            with contextlib.suppress(ProcessLookupError):
                worker.process.send_signal(number)

    async def _keep(self) -> None:
        """Keeps one worker: starts another one whenever it ends."""
        failures = 0
        while not self._ending:
            worker = await self._start()
            self._workers.add(worker)
            if self._ending:  # the signal came while the process was made
                self._signal(signal.SIGTERM)
            told = await self._follow(worker)
            if self._ending:
                await self._reap(worker)
                self._workers.discard(worker)
                return
            code = await worker.process.wait()
            self._workers.discard(worker)
            forget: Any = mark_process_dead  # it has no types
            forget(worker.process.pid, self._environment["PROMETHEUS_MULTIPROC_DIR"])
            if "failed" in told and not self._said:
                kind = getattr(errors, str(told.get("kind")), errors.TracepackError)
                raise kind(told["failed"])
            if not (self._said or worker.ready):
                raise errors.TracepackError("a worker ended before it was ready", got=f"code {code}")
            if "failed" in told:
                log.warning("worker %d cannot start: %s", worker.process.pid, told["failed"])
            failures = 0 if worker.ready else failures + 1
            log.warning("worker %d ended with code %d; another one starts", worker.process.pid, code)
            await asyncio.sleep(min(0.1 * 2**failures, LONGEST_PAUSE) if failures else 0)

    async def _start(self) -> _Worker:
        """A worker that begins: the one that waits, if it is still there."""
        worker = await self._waiting()
        if worker is None or worker.process.returncode is not None:
            worker = await self._make()
        worker.channel.write(json.dumps({"unloaded": list(self._unloaded)}).encode() + b"\n")
        return worker

    async def _waiting(self) -> _Worker | None:
        """The process that waits, which no longer is the one; None where there is none, or it could not be made."""
        spare, self._spare = self._spare, None
        with contextlib.suppress(OSError):
            return None if spare is None else await spare
        return None

    async def _make(self) -> _Worker:
        """A process that waits until it is told to begin."""
        ours, theirs = socket.socketpair()
        with theirs:
            sockets = [self._listening.fileno(), theirs.fileno()]
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", WORKER, self._options.to_json(), *map(str, sockets),
                pass_fds=sockets, env=self._environment, stdin=asyncio.subprocess.DEVNULL,
            )  # fmt: skip
        return _Worker(process, *await asyncio.open_unix_connection(sock=ours))

    async def _follow(self, worker: _Worker) -> dict[str, Any]:
        """Hears a worker until it ends; gives the last that it said."""
        told: dict[str, Any] = {}
        while line := await _line(worker.reader):
            told = json.loads(line)
            if "ready" in told:
                worker.ready = True
                self._announce()
                if self._said and self._spare is None and not self._ending:
                    self._spare = asyncio.create_task(self._make())
            elif "do" in told:
                self._pass_on(worker, line, told)
        worker.channel.close()
        return told

    def _announce(self) -> None:
        if not self._said and sum(worker.ready for worker in self._workers) == self._options.workers:
            self._said = True
            self._say(describe(self._options, self._listening.getsockname()[1], self._options.grpc_port))

    def _pass_on(self, worker: _Worker, line: bytes, told: dict[str, Any]) -> None:
        """Tells the other workers of a model that one loaded or unloaded."""
        if told["do"] == "unload":
            self._unloaded[told["model"]] = None
        else:
            self._unloaded.pop(told["model"], None)
        for other in self._workers - {worker}:
            other.channel.write(line)

    async def _reap(self, worker: _Worker) -> None:
        """Waits for a worker that drains; kills it where it takes too long."""
        try:
            await asyncio.wait_for(worker.process.wait(), self._options.drain + GRACE)
        except (asyncio.TimeoutError, TimeoutError):
            worker.process.kill()
            await worker.process.wait()


async def _line(reader: asyncio.StreamReader) -> bytes:
    """The next line of a worker; nothing where it has ended, however abruptly."""
    try:
        return await reader.readline()
    except ConnectionError:
        return b""
