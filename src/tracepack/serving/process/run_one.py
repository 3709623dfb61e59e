"""Runs one server, in this process and alone."""

from __future__ import annotations

from collections.abc import Callable

from .launch import LaunchOptions
from .listening import describe, listen, log_to_stderr
from .server import Server, leave, run_to_end


def run_alone(options: LaunchOptions, say: Callable[[str], None]) -> None:
    """Serves until a signal comes.

    Args:
        options: of the server.
        say: called with the line that says where it listens.

    Raises:
        TracepackError: a model cannot be served.
        OSError: a port is taken.
    """
    log_to_stderr(bool(options.settings.get("log_requests")))
    server = Server(options)
    with listen(options.host, options.http_port) as listening:
        port = listening.getsockname()[1]
        run_to_end(server.run(listening, options.grpc_port, lambda grpc_port: say(describe(options, port, grpc_port))))
    leave(server)
