"""What the page shows, as plain data: each model with its signature, and the server's counts."""

from __future__ import annotations

from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from ...ops.graph.text import graph_text
from ..models.model import ServedModel
from ..models.repository import Repository
from ..telemetry.metrics import Metrics

_SAMPLES = {
    "tracepack_request_success_total": "answered",
    "tracepack_request_failure_total": "failed",
    "tracepack_request_seconds_sum": "seconds",
    "tracepack_requests_pending": "pending",
}


def described(repository: Repository) -> list[dict[str, Any]]:
    """Each model and version: its state, and of one that is ready its signature, inputs and outputs."""
    ready = {(model.name, model.version): model for model in repository.loaded()}
    rows: list[dict[str, Any]] = []
    for row in repository.index():
        model = ready.get((row["name"], row["version"]))
        rows.append(row if model is None else {**row, "newest": model is repository.model(model.name), **_shown(model)})
    return rows


def _shown(model: ServedModel) -> dict[str, Any]:
    pipeline = model.pipeline
    outputs = model.interface.described()["outputs"]
    return {
        "signature": pipeline.signature,
        "metadata": pipeline.metadata,
        "stateful": pipeline.stateful,
        "graph": graph_text(pipeline.graph),
        "inputs": [
            {
                "name": name,
                "kind": field.kind,
                "dtype": field.dtype,
                "shape": None if field.shape is None else list(field.shape),
                "default": field.default,
                "required": field.required,
            }
            for name, field in model.interface.inputs.items()
        ],
        "outputs": [row["name"] for row in outputs],
    }


def counted(metrics: Metrics) -> list[dict[str, Any]]:
    """The server's counts of each model since it started: requests answered, failed and pending, and their seconds."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for family in text_string_to_metric_families(metrics.text().decode()):
        for sample in family.samples:
            if sample.name in _SAMPLES:
                key = (sample.labels["model"], sample.labels["version"])
                row = rows.setdefault(key, {"name": key[0], "version": key[1], **dict.fromkeys(_SAMPLES.values(), 0)})
                row[_SAMPLES[sample.name]] += sample.value
    return list(rows.values())
