"""Serves pipelines under the Open Inference Protocol v2, by HTTP and gRPC: ``tracepack serve``, and `app` for mounting.

The packages of the extra ``serve`` are imported when `app` or `serve` is called, and by no other import.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

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
        >>> [route.path for route in application.routes][:2]
        ['/v2', '/v2/health/live']
    """
    from .extra import require_extra

    require_extra("starlette", "prometheus_client")
    from .http.application import application
    from .models.repository import Repository

    config = ServingConfig.of(settings)
    repository = Repository({name: {"1": source} for name, source in models.items()}, config)
    repository.load_all()
    return application(repository, config)
