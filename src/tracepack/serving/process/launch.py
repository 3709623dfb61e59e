"""LaunchOptions: what ``tracepack serve`` was asked for, in a form that goes to another process. No torch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ...ops.graph.errors import ArchiveError
from ..config import ServingConfig


@dataclass(frozen=True)
class LaunchOptions:
    """A server to be started.

    Attributes:
        paths: files and folders of models.
        host: the address that is listened on.
        http_port: of HTTP; 0 takes a free one.
        grpc_port: of gRPC; 0 takes a free one, None leaves it out.
        workers: processes that share the ports.
        settings: fields of `ServingConfig`, but for the token.
        token_file: the file that holds the token.
        tls_cert: the certificate, as PEM.
        tls_key: its key, as PEM.
        watch: whether a file that is replaced is loaded without being asked to.
        drain: seconds that requests may take after SIGTERM.
        unloaded: models that are not loaded at the start.
    """

    paths: tuple[str, ...]
    host: str = "127.0.0.1"
    http_port: int = 8000
    grpc_port: int | None = 8001
    workers: int = 1
    settings: Mapping[str, Any] = field(default_factory=dict)
    token_file: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    watch: bool = False
    drain: float = 30.0
    unloaded: tuple[str, ...] = ()

    def config(self) -> ServingConfig:
        """The settings of the server, with the token read from its file.

        Raises:
            ArchiveError: the file of the token cannot be read, or is empty.
            SignatureError: a setting is wrong.
        """
        token = None if self.token_file is None else _token(self.token_file)
        return ServingConfig.of({**self.settings, "token": token})

    def to_json(self) -> str:
        """The options as text, for the command line of a worker."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> LaunchOptions:
        """The options that `to_json` wrote."""
        found = json.loads(text)
        return cls(**{**found, "paths": tuple(found["paths"]), "unloaded": tuple(found["unloaded"])})


def _token(path: str) -> str:
    try:
        with open(path, encoding="utf-8-sig") as file:
            token = file.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ArchiveError("the token cannot be read", where=path, got=error) from None
    if not token:
        raise ArchiveError("the file of the token is empty", where=path)
    return token
