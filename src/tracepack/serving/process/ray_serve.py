"""A deployment of Ray Serve: each of its replicas runs the application that `app` makes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ray import serve
from starlette.applications import Starlette

from ...ops.graph.errors import SignatureError
from ...pipeline.load import load
from ...pipeline.opening import check_unchanged, digest_of
from ...serialization.container.archive import Archive
from ..config import ServingConfig
from ..http.application import application
from ..models.repository import Repository

FIXED = "a replica of Ray Serve does not change its models: deploy the application again"

Files = Mapping[str, tuple[str, str]]
"""For each name of a model its file, and the digest that the file must have."""


def deployment(
    models: Mapping[str, str | os.PathLike[str]],
    name: str,
    replicas: tuple[int, int],
    cpus: float,
    gpus: float,
    settings: Mapping[str, Any],
) -> Any:
    """The application of Ray Serve; see `tracepack.serving.ray_app`."""
    config = ServingConfig.of(settings)
    files = {model: _checked(model, path, config, replicas) for model, path in models.items()}

    def build() -> Starlette:
        return replica(files, dict(settings))

    least, most = replicas
    scaling: dict[str, Any] = {"num_replicas": least}
    if most > least:
        scaling = {
            "autoscaling_config": {
                "min_replicas": least, "max_replicas": most, "target_ongoing_requests": max(2, config.max_batch),
            }
        }  # fmt: skip
    made = serve.deployment(
        serve.ingress(build)(), name=name, max_ongoing_requests=config.max_queue,
        graceful_shutdown_timeout_s=config.timeout, ray_actor_options={"num_cpus": cpus, "num_gpus": gpus}, **scaling,
    )  # fmt: skip
    return made.bind()


def _checked(
    model: str, path: str | os.PathLike[str], config: ServingConfig, replicas: tuple[int, int]
) -> tuple[str, str]:
    """The file as replicas take it, after it was loaded here, where an error is one of the caller."""
    path = os.path.abspath(os.fspath(path))
    pipeline = load(path, trust=model in config.trust, signed_by=config.signed_by or None, packages=config.packages)
    if pipeline.stateful and replicas != (1, 1):
        raise SignatureError(
            "a pipeline with state needs one replica, since the requests of a sequence go to any",
            where=f"model {model!r}",
            got=f"replicas={replicas}",
            expected="replicas=1",
        )
    return path, digest_of(Archive(path))


def replica(files: Files, settings: dict[str, Any]) -> Starlette:
    """The application of one replica.

    Raises:
        ArchiveError: a file is missing on its machine, or another one than was deployed.
        TracepackError: as `app`.
    """
    config = ServingConfig.of(settings)
    for path, digest in files.values():
        check_unchanged(Archive(path), digest)
    repository = Repository({name: {"1": path} for name, (path, _) in files.items()}, config)
    repository.load_all()
    repository.fixed = FIXED
    return application(repository, config)
