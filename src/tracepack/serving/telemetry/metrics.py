"""The metrics of a server for Prometheus, split as Triton splits them: queue, compute input, infer, compute output.

Workers that share a port share a folder (``PROMETHEUS_MULTIPROC_DIR``, set by their supervisor) too, so that each of
them gives the sums of all.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from ..models.execution import Passage

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
PARTS = ("queue", "compute_input", "infer", "compute_output")
_LABELS = ("model", "version")
_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


class _Children(NamedTuple):
    """The metrics of one model."""

    pending: Any
    duration: Any
    failure: Any
    success: Any
    batch: Any
    parts: dict[str, Any]


class Metrics:
    """The metrics of all models of a server; in a registry of their own, which the user's metrics do not meet."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()

        def counter(name: str, text: str) -> Counter:
            return Counter(f"tracepack_{name}", text, _LABELS, registry=registry)

        self._success = counter("request_success", "Requests that were answered")
        self._failure = counter("request_failure", "Requests that were answered with an error")
        self._parts = {part: counter(f"{part}_seconds", f"Seconds of requests in: {part}") for part in PARTS}
        self._duration = Histogram(
            "tracepack_request_seconds", "Seconds that a request took", _LABELS, buckets=_SECONDS, registry=registry
        )
        self._batch = Histogram(
            "tracepack_batch_rows", "Rows that were run together with a request's", _LABELS, buckets=_SIZES,
            registry=registry,
        )  # fmt: skip
        self._pending = Gauge(
            "tracepack_requests_pending", "Requests that are run or wait", _LABELS, registry=registry,
            multiprocess_mode="livesum",
        )  # fmt: skip

    @lru_cache(maxsize=1024)  # noqa: B019  # metrics live as long as their server
    def _of(self, model: str, version: str) -> _Children:
        """The metrics of one model: finding one by its labels takes some microseconds."""
        labelled = {part: counter.labels(model, version) for part, counter in self._parts.items()}
        pending, duration = self._pending.labels(model, version), self._duration.labels(model, version)
        failure, success = self._failure.labels(model, version), self._success.labels(model, version)
        return _Children(pending, duration, failure, success, self._batch.labels(model, version), labelled)

    def begin(self, model: str, version: str) -> None:
        """Counts a request that has come."""
        self._of(model, version).pending.inc()

    def end(self, model: str, version: str, passage: Passage, seconds: float, succeeded: bool) -> None:
        """Counts a request that was answered."""
        of = self._of(model, version)
        of.pending.dec()
        of.duration.observe(seconds)
        if not succeeded:
            of.failure.inc()
            return
        of.success.inc()
        of.batch.observe(passage.rows)
        for part, counter in of.parts.items():
            counter.inc(max(0.0, getattr(passage, part)))

    def text(self) -> bytes:
        """All metrics in the text form of Prometheus; those of all workers where there are several."""
        registry = self._registry
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
            registry = CollectorRegistry()
            collector: Any = MultiProcessCollector  # it has no types
            collector(registry)
        return bytes(generate_latest(registry))
