"""Serves pipelines under the Open Inference Protocol v2, by HTTP and gRPC: ``tracepack serve``, and `app` for mounting.

The packages of the extra ``serve`` are imported when `app` or `serve` is called, and by no other import.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..ops.graph.errors import SignatureError
from .config import ServingConfig as ServingConfig

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from ..pipeline.pipeline import Pipeline


def app(models: Mapping[str, str | os.PathLike[str] | Pipeline], **settings: Any) -> Starlette:
    """The ASGI application that serves pipelines, to be run by any ASGI server or mounted in another application.

    The models are loaded here, and their golden examples replayed, so that a file that cannot be served is an error
    of this call.

    Args:
        models: a path or a pipeline for each name.
        settings: the fields of `ServingConfig`, such as ``max_batch=32`` or ``token="…"``.

    Raises:
        MissingExtraError: the extra ``serve`` is not installed.
        SignatureError: a setting is unknown or wrong.
        TracepackError: as `load`; or an input has a dtype that the protocol lacks.

    Example:
        >>> import torch, tracepack
        >>> from tracepack.serving import app
        >>> application = app({"double": tracepack.trace(lambda x: x * 2, torch.ones(2, 3))})
        >>> [route.path for route in application.routes][0]
        '/v2/models/{model}/infer'
    """
    from .extra import require_extra

    require_extra("starlette", "prometheus_client")
    from .http.application import application
    from .models.repository import Repository

    config = ServingConfig.of(settings)
    repository = Repository({name: {"1": source} for name, source in models.items()}, config)
    repository.load_all()
    return application(repository, config)


def serve(
    paths: Sequence[str],
    *,
    host: str = "127.0.0.1",
    http_port: int = 8000,
    grpc_port: int = 8001,
    no_grpc: bool = False,
    workers: int = 1,
    token_file: str | None = None,
    tls_cert: str | None = None,
    tls_key: str | None = None,
    watch: bool = False,
    drain: float = 30.0,
    budget_seconds: float | None = None,
    budget_bytes: int | None = None,
    say: Callable[[str], None] = print,
    **settings: Any,
) -> None:
    """Serves files until SIGTERM or Ctrl-C: what ``tracepack serve`` does. It must run in the main thread.

    Args:
        paths: files, and folders of them; a model is called by its file's stem.
        host: the address to listen on; by default this machine only.
        http_port: of HTTP; 0 takes a free one.
        grpc_port: of gRPC; 0 takes a free one.
        no_grpc: leaves gRPC out.
        workers: processes that share the ports, and the mapped weights.
        token_file: holds the token that clients send as ``Authorization: Bearer …``.
        tls_cert: a certificate for both, as PEM, with ``tls_key``.
        tls_key: its key, as PEM.
        watch: loads a file again that is replaced; SIGHUP does so once.
        drain: seconds for what has begun when SIGTERM comes.
        budget_seconds: ends a run that takes longer.
        budget_bytes: ends a run whose operators make more.
        say: called once with a line of JSON: where the server listens.
        settings: the fields of `ServingConfig`.

    Raises:
        MissingExtraError: the extra ``serve`` is not installed.
        TracepackError: a model cannot be served, or a setting is wrong.
        OSError: a port is taken.
    """
    from .extra import require_extra

    require_extra("starlette", "uvicorn", "prometheus_client", *([] if no_grpc else ["grpc", "google.protobuf"]))
    if (tls_cert is None) != (tls_key is None):
        raise SignatureError("TLS needs a certificate and its key", got="one of them")
    from .process.early_signals import noting_reloads
    from .process.launch import LaunchOptions

    budget = {"seconds": budget_seconds, "bytes": budget_bytes}
    spent = {name: limit for name, limit in budget.items() if limit is not None}
    options = LaunchOptions(
        tuple(paths), host, http_port, None if no_grpc else grpc_port, workers,
        {**settings, "budget": spent} if spent else settings, token_file, tls_cert, tls_key, watch, drain,
    )  # fmt: skip
    options.config()  # an error in the settings is one before any process is started
    with noting_reloads():
        if workers > 1:
            from .process.supervisor import supervise

            supervise(options, say)
        else:
            from .process.run_one import run_alone

            run_alone(options, say)
