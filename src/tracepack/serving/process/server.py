"""One process that answers requests: HTTP and gRPC on one event loop, until a signal ends it.

SIGTERM and Ctrl-C drain: no new connection is taken, and what has begun is answered. SIGHUP takes new files.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import torch
import uvicorn

from ...ops.graph.errors import ArchiveError, SignatureError
from ..http.application import application
from ..http.connections import limited_protocol
from ..models.repository import Repository
from ..telemetry.watcher import Watcher
from .early_signals import reload_was_asked
from .launch import LaunchOptions
from .listening import bracketed
from .sources_of_models import find_models, stamp

log = logging.getLogger("tracepack.serving")

WATCHED_EVERY = 1.0  # seconds


class _Http(uvicorn.Server):
    """A server of HTTP that leaves the signals to its process."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Captures none."""
        yield


class Server:
    """A server of the models that its options name; they are loaded when it is made.

    Args:
        options: of the server.

    Raises:
        TracepackError: a model cannot be served, or an option is wrong.
    """

    def __init__(self, options: LaunchOptions) -> None:
        self.options, self.config = options, options.config()
        torch.set_num_threads(self.config.threads)  # of the loop, which performs short runs
        found = find_models(options.paths)
        self.repository = Repository(found, self.config)
        self._stamps = {name: stamp(versions) for name, versions in found.items()}
        self._watcher = Watcher(self.config)
        self._reloading: asyncio.Task[None] | None = None
        self._told: list[str] = []  # what the last look at the files found wrong
        self._again = False  # whether files were replaced while a reload went on
        for name in found:
            if name not in options.unloaded:
                self.repository.load(name)
        for name in options.unloaded:
            self.repository.unload(name)

    def refuse_state(self) -> None:
        """Checks that no model has state: requests of one stream may reach different workers.

        Raises:
            SignatureError: one has.
        """
        for model in self.repository.loaded():
            if model.pipeline.stateful:
                raise SignatureError(
                    "a pipeline with state is served by one process", where=f"model {model.name!r}",
                    got=f"{self.options.workers} workers", fix="Serve it by itself, with one worker.",
                )  # fmt: skip

    async def run(self, listening: socket.socket, grpc_port: int | None, started: Callable[[int | None], None]) -> None:
        """Serves until a signal comes.

        Args:
            listening: the socket of HTTP.
            grpc_port: of gRPC; None leaves it out.
            started: called with the port of gRPC once requests are answered.

        Raises:
            OSError: the port of gRPC is taken, or a file of TLS cannot be read.
        """
        self._loop, self._http = asyncio.get_running_loop(), _Http(self._http_config())
        self._draining = asyncio.Event()
        rpc, port = await self._start_rpc(grpc_port)
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, self.drain)
        self._loop.add_signal_handler(signal.SIGHUP, self.reload)
        if reload_was_asked():  # while the models were loaded
            self.reload()
        watching = self._loop.create_task(self._watch()) if self.options.watch else None
        announcing = self._loop.create_task(self._announce(started, port))
        ending = None if rpc is None else self._loop.create_task(self._end_rpc(rpc))
        await self._http.serve([listening])
        announcing.cancel()
        if watching is not None:
            watching.cancel()
        if ending is not None:
            await ending

    def drain(self) -> None:
        """Takes no new connection, and ends once what has begun is answered."""
        self.repository.draining = True
        self._http.should_exit = True
        self._draining.set()

    def reload(self) -> None:
        """Loads the models again whose files were replaced, beside the requests; once more where one is under way."""
        if self._reloading is None or self._reloading.done():
            self._reloading = self._loop.create_task(self._reload())
        else:
            self._again = True

    async def _reload(self) -> None:
        self._again = True
        while self._again:
            self._again = False
            await asyncio.to_thread(self._take_new_files)

    async def _end_rpc(self, rpc: Any) -> None:
        """Ends gRPC as HTTP ends: beside it, once the server drains."""
        await self._draining.wait()
        await rpc.stop(self.options.drain)

    async def _announce(self, started: Callable[[int | None], None], port: int | None) -> None:
        while not self._http.started:
            await asyncio.sleep(0.005)
        started(port)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(WATCHED_EVERY)
            self.reload()

    def _take_new_files(self) -> None:
        """A file that cannot be loaded, or whose golden examples fail, leaves the model as it was."""
        wrong: list[ArchiveError] = []
        found = find_models(self.options.paths, wrong)
        texts = [f"what was loaded from there stays as it was: {error}" for error in wrong]
        for text in texts:
            if text not in self._told:  # --watch looks every second
                log.warning(text)
        self._told = texts
        for name, versions in found.items():
            now = stamp(versions)
            if now == self._stamps.get(name) or len(now) < len(versions):
                continue
            self._stamps[name] = now
            try:
                self.repository.replace(name, versions)
            except Exception as error:  # whatever a file does wrong, the server goes on
                log.warning("model %r stays as it was: %s", name, error)
            else:
                log.info("model %r was loaded again", name)

    def _http_config(self) -> Any:
        options, config = self.options, self.config
        return uvicorn.Config(
            application(self.repository, config, self._watcher), log_config=None, log_level="warning", access_log=False,
            lifespan="off", ws="none", http=limited_protocol(config.max_connections, config.timeout),
            timeout_graceful_shutdown=max(1, int(options.drain)), ssl_certfile=options.tls_cert,
            ssl_keyfile=options.tls_key, server_header=False, proxy_headers=False,
        )  # fmt: skip

    async def _start_rpc(self, port: int | None) -> tuple[Any, int | None]:
        if port is None:
            return None, None
        from ..rpc.service import rpc_server

        shared = self.options.workers > 1
        server, address = (
            rpc_server(self.repository, self.config, self._watcher, shared),
            f"{bracketed(self.options.host)}:{port}",
        )
        try:
            if self.options.tls_cert is None or self.options.tls_key is None:
                bound = server.add_insecure_port(address)
            else:
                bound = server.add_secure_port(address, _credentials(self.options.tls_cert, self.options.tls_key))
        except RuntimeError as error:
            raise OSError(f"gRPC cannot listen on {address}") from error
        await server.start()
        return server, bound


def _credentials(cert: str, key: str) -> Any:
    import grpc

    return grpc.ssl_server_credentials([(Path(key).read_bytes(), Path(cert).read_bytes())])


def leave(server: Server) -> None:
    """Ends the process where a run goes on after its request was answered: Python would wait for its thread."""
    if server.repository.busy:
        log.warning("a run was ended that took longer than its request could wait")
        logging.shutdown()
        os._exit(0)


def run_to_end(served: Coroutine[Any, Any, None]) -> None:
    """Runs a server on an event loop of its own, uvloop's where it is installed.

    What still waits for a client then is cancelled before the loop closes: Python would warn of each coroutine that
    nobody awaited.
    """
    loop = _event_loop()
    try:
        loop.run_until_complete(served)
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=1))
        loop.close()


def _event_loop() -> Any:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
