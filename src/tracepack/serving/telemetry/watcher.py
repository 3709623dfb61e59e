"""Watches requests from outside: each is measured, and on request a line of log and a span."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from ...ops.graph.errors import MissingExtraError
from ..config import ServingConfig
from ..models.execution import Passage
from ..models.model import ServedModel
from ..protocol.rejections import status_of, text_of
from .metrics import Metrics

log = logging.getLogger("tracepack.requests")


class Watcher:
    """What watches the requests of a server.

    Args:
        config: whether there are lines of log and spans.

    Raises:
        MissingExtraError: spans are asked for, and OpenTelemetry is not installed.
    """

    def __init__(self, config: ServingConfig) -> None:
        self.metrics = Metrics()
        self._logs = config.log_requests
        self._spans = _spans() if config.spans else None

    def request(self, model: ServedModel, protocol: str, headers: Callable[[], Mapping[str, str]]) -> _Watched:
        """A context around the work for one request.

        Args:
            model: that answers.
            protocol: ``"http"``, ``"grpc"`` or ``"json"``.
            headers: gives those of the request, with the caller's trace.
        """
        span = None if self._spans is None else self._spans(model, protocol, headers())
        return _Watched(self.metrics, model, protocol, span, self._logs)


class _Watched:
    """The context around one request; a generator that does the same costs more than all else in it."""

    __slots__ = ("_begun", "_logs", "_metrics", "_model", "_passage", "_protocol", "_span")

    def __init__(self, metrics: Metrics, model: ServedModel, protocol: str, span: Any, logs: bool) -> None:
        self._metrics, self._model, self._protocol, self._span, self._logs = metrics, model, protocol, span, logs
        self._passage = Passage()

    def __enter__(self) -> Passage:
        self._begun = time.perf_counter()
        self._metrics.begin(self._model.name, self._model.version)
        if self._span is not None:
            self._span.__enter__()
        return self._passage

    def __exit__(self, kind: Any, failed: BaseException | None, trace: Any) -> None:
        try:
            if self._span is not None:
                self._span.__exit__(kind, failed, trace)
        finally:
            model, seconds = self._model, time.perf_counter() - self._begun
            self._metrics.end(model.name, model.version, self._passage, seconds, failed is None)
            if self._logs:
                row = _row(model, self._protocol, self._passage, seconds, failed)
                log.info(json.dumps(row))  # in ASCII: some readers end a line at U+2028


def _row(
    model: ServedModel, protocol: str, passage: Passage, seconds: float, failed: BaseException | None
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "time": round(time.time(), 3),
        "model": model.name,
        "version": model.version,
        "protocol": protocol,
        "id": passage.id,
        "status": 200 if failed is None else status_of(failed),
        "ms": round(seconds * 1e3, 3),
        "queue_ms": round(passage.queue * 1e3, 3),
        "infer_ms": round(passage.infer * 1e3, 3),
        "rows": passage.rows,
        "requests": passage.requests,
    }
    return row if failed is None else {**row, "error": text_of(failed)}


def _spans() -> Callable[[ServedModel, str, Mapping[str, str]], Any]:
    """Opens a span of OpenTelemetry as a child of the caller's."""
    try:
        from opentelemetry.propagate import extract
        from opentelemetry.trace import SpanKind, get_tracer
    except ImportError:
        raise MissingExtraError(
            "spans need OpenTelemetry, which is not installed", fix="pip install opentelemetry-sdk"
        ) from None
    tracer = get_tracer("tracepack")

    def span(model: ServedModel, protocol: str, headers: Mapping[str, str]) -> Any:
        attributes = {"tracepack.model": model.name, "tracepack.version": model.version, "rpc.system": protocol}
        return tracer.start_as_current_span(f"infer {model.name}", extract(headers), SpanKind.SERVER, attributes)

    return span
