"""A worker: one server whose sockets and channel come from its supervisor; ``python -m`` starts it.

It waits on the channel until it is told to begin, with all imports done, which take most of a start. Then it says there
that it is ready, and of which models it loads and unloads; it is told of those of the others.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
import signal
import socket
import sys
from dataclasses import replace
from typing import Any

from ...ops.graph.errors import TracepackError
from .launch import LaunchOptions
from .listening import log_to_stderr
from .server import Server, leave, run_to_end

log = logging.getLogger("tracepack.serving")

RPC = "tracepack.serving.rpc.service"  # imported where it is asked for, since it needs grpcio


def main() -> int:
    """Runs a worker; its arguments are the options, the socket of HTTP and the channel, both by number."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # no trace of the stack while it waits
    options = LaunchOptions.from_json(sys.argv[1])
    listening, channel = (socket.socket(fileno=int(number)) for number in sys.argv[2:4])
    log_to_stderr(bool(options.settings.get("log_requests")))
    if options.grpc_port is not None:
        importlib.import_module(RPC)
    told = _first_line(channel)
    if not told:  # the server ended, and needed no other worker
        return 0
    options = replace(options, unloaded=tuple(json.loads(told)["unloaded"]))
    try:
        server = Server(options)
        server.refuse_state()
    except TracepackError as error:
        channel.sendall(_line({"failed": str(error), "kind": type(error).__name__}))
        return 1
    run_to_end(_serve(server, listening, channel))
    leave(server)
    return 0


async def _serve(server: Server, listening: socket.socket, channel: socket.socket) -> None:
    reader, writer = await asyncio.open_unix_connection(sock=channel)
    loop = asyncio.get_running_loop()

    def tell(verb: str, model: str) -> None:
        loop.call_soon_threadsafe(writer.write, _line({"do": verb, "model": model}))

    server.repository.tell = tell
    following = loop.create_task(_follow(server, reader))
    await server.run(listening, server.options.grpc_port, lambda port: writer.write(_line({"ready": True})))
    following.cancel()
    writer.close()


async def _follow(server: Server, reader: asyncio.StreamReader) -> None:
    """Does what the other workers did; ends the server where the supervisor is gone."""
    while line := await reader.readline():
        told = json.loads(line)
        if told["do"] == "reload":
            server.reload()
            continue
        try:
            await asyncio.to_thread(getattr(server.repository, told["do"]), told["model"])
        except TracepackError as error:
            log.warning("another worker was asked to %s model %r: %s", told["do"], told["model"], error)
    server.drain()


def _first_line(channel: socket.socket) -> bytes:
    """The line with which a worker begins, and nothing of what follows it; nothing where the channel ends."""
    line = b""
    while not line.endswith(b"\n"):
        byte = channel.recv(1)
        if not byte:
            return b""
        line += byte
    return line


def _line(row: dict[str, Any]) -> bytes:
    return json.dumps(row).encode() + b"\n"


if __name__ == "__main__":
    sys.exit(main())
