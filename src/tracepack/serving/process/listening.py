"""Where a server listens, what it says of that, and where its log goes. No torch."""

from __future__ import annotations

import json
import logging
import socket
import sys

from .launch import LaunchOptions


def listen(host: str, port: int) -> socket.socket:
    """A socket that takes connections.

    Raises:
        OSError: the address is taken, or none of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.create_server((host, port), family=family, backlog=2048)
    made.set_inheritable(True)
    return made


def reserve(host: str, port: int) -> socket.socket:
    """A port that the workers may share and nobody else gets, by a socket that takes no connections.

    Raises:
        OSError: the address is taken, or none of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family) as alone:  # fails where others share the port already
        port = alone.getsockname()[1]
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    made.bind((host, port))
    return made


def bracketed(host: str) -> str:
    """A host as addresses write it.

    Example:
        >>> bracketed("::1")
        '[::1]'
    """
    return f"[{host}]" if ":" in host else host


def log_to_stderr(requests: bool) -> None:
    """Sends the log of the server to standard error; each request is a line of JSON by itself."""
    logging.basicConfig(stream=sys.stderr, format="tracepack: %(levelname)s: %(message)s", level=logging.WARNING)
    logging.getLogger("tracepack.serving").setLevel(logging.INFO)
    if requests:
        lines = logging.StreamHandler(sys.stderr)
        lines.setFormatter(logging.Formatter("%(message)s"))
        log_of_requests = logging.getLogger("tracepack.requests")
        log_of_requests.addHandler(lines)
        log_of_requests.setLevel(logging.INFO)
        log_of_requests.propagate = False


def describe(options: LaunchOptions, http_port: int, grpc_port: int | None) -> str:
    """The line that says that a server is ready, as JSON, for people and for scripts."""
    scheme, host = "https" if options.tls_cert else "http", bracketed(options.host)
    row = {"serving": f"{scheme}://{host}:{http_port}", "grpc": None if grpc_port is None else f"{host}:{grpc_port}"}
    return json.dumps(row)
