"""Serves pipelines under the Open Inference Protocol v2, by HTTP and gRPC: ``tracepack serve``, and `app` for mounting.

The packages of the extra ``serve`` are imported when `app` or `serve` is called, and by no other import.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
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


def ray_app(
    models: str | os.PathLike[str] | Mapping[str, str | os.PathLike[str]],
    *,
    name: str = "tracepack",
    replicas: int | tuple[int, int] = 1,
    cpus: float = 1.0,
    gpus: float = 0.0,
    **settings: Any,
) -> Any:
    """The same application as a deployment of Ray Serve, for ``ray.serve.run`` and ``serve deploy``.

    The files are loaded here once, so that one that cannot be served is an error of this call; a replica takes no other
    file than this one, by its hashes. Deployed again, with new files or settings, Ray replaces the replicas in turn,
    and the old ones answer until new ones have replayed their golden examples.

    Args:
        models: the path of a file, whose model is called by its stem, or a path for each name. Every machine of the
            cluster has the file under this path.
        name: of the deployment.
        replicas: how many processes; the least and the most, between which Ray scales by the requests that wait.
            A pipeline with state takes one, since the requests of a sequence would go to any of several.
        cpus: processors that Ray reserves for a replica.
        gpus: GPUs that Ray reserves for a replica.
        settings: the fields of `ServingConfig`: ``max_batch=32`` runs requests of a replica together.

    Returns:
        An application of Ray Serve. Clients cannot load or unload models of it, and its metrics are of one replica.

    Raises:
        MissingExtraError: the extras ``serve`` and ``ray`` are not installed.
        SignatureError: a setting is unknown or wrong, or a pipeline with state has several replicas.
        TracepackError: as `load`.
    """
    from .extra import require_extra

    require_extra("starlette", "prometheus_client", "ray.serve")
    from .process.ray_serve import deployment

    found = dict(models) if isinstance(models, Mapping) else {Path(models).stem: models}
    least, most = (replicas, replicas) if isinstance(replicas, int) else replicas
    if not 1 <= least <= most:
        raise SignatureError(
            "no number of replicas", got=repr(replicas), expected="1 or more, or the least and the most"
        )
    return deployment(found, name, (least, most), cpus, gpus, settings)


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
