"""Metrics add up, logs are one line of JSON a request, and spans are children of the caller's."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import httpx
import pytest

from tests.serving.servers import cell, serving

parser = pytest.importorskip("prometheus_client.parser")
ROWS = {"inputs": [
    {"name": "x", "datatype": "FP32", "shape": [2, 4], "data": [0] * 8},
    {"name": "h", "datatype": "FP32", "shape": [2, 3], "data": [0] * 6},
]}  # fmt: skip


def samples(text: str) -> dict[str, float]:
    """Each sample of the model ``cell`` by its name, those of histograms without their buckets."""
    families = parser.text_string_to_metric_families(text)
    found = [sample for family in families for sample in family.samples if sample.labels.get("model") == "cell"]
    return {sample.name: sample.value for sample in found if "le" not in sample.labels}


def test_metrics_are_split_and_counted() -> None:
    with serving({"cell": cell()}) as address:
        url = f"http://{address}"
        for _ in range(3):
            assert httpx.post(f"{url}/v2/models/cell/infer", json=ROWS).status_code == 200
        assert httpx.post(f"{url}/v2/models/cell/infer", json={"inputs": []}).status_code == 400
        answer = httpx.get(f"{url}/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    found = samples(answer.text)
    assert found["tracepack_request_success_total"] == 3
    assert found["tracepack_request_failure_total"] == 1
    assert found["tracepack_request_seconds_count"] == 4
    assert found["tracepack_requests_pending"] == 0
    parts = [found[f"tracepack_{part}_seconds_total"] for part in ("queue", "compute_input", "infer", "compute_output")]
    assert all(part > 0 for part in parts[1:])
    assert sum(parts) < found["tracepack_request_seconds_sum"]


def test_a_line_of_json_for_each_request(caplog) -> None:
    caplog.set_level(logging.INFO, "tracepack.requests")
    with serving({"cell": cell()}, log_requests=True) as address:
        httpx.post(f"http://{address}/v2/models/cell/infer", json={**ROWS, "id": "a\n1\u2028\x9b"})
        httpx.post(f"http://{address}/v1/cell", json={"x": 1})
    lines = [record.getMessage() for record in caplog.records if record.name == "tracepack.requests"]
    assert all(len(line.splitlines()) == 1 and line.isprintable() for line in lines)
    good, bad = map(json.loads, lines)
    assert (good["model"], good["protocol"], good["id"], good["status"]) == ("cell", "http", "a\n1\u2028\x9b", 200)
    assert 0 < good["infer_ms"] < good["ms"]
    assert (bad["protocol"], bad["status"], bad["error"]) == (
        "json",
        400,
        "input 'h': missing input; expected f32[N,3]",
    )


@pytest.fixture
def exporter() -> Iterator:
    pytest.importorskip("opentelemetry.sdk", reason="OpenTelemetry is not installed")
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    made, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(made))
    trace.set_tracer_provider(provider)  # once in a process
    return made


def test_spans_carry_the_trace_of_the_caller(exporter) -> None:
    caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with serving({"cell": cell()}, spans=True) as address:
        sent = {"traceparent": caller}
        httpx.post(f"http://{address}/v2/models/cell/infer", json=ROWS, headers=sent)
        httpx.post(f"http://{address}/v2/models/cell/infer", json={"inputs": []}, headers=sent)
    good, bad = exporter.get_finished_spans()
    for span in (good, bad):
        assert f"{span.context.trace_id:032x}" == "0af7651916cd43dd8448eb211c80319c"
        assert f"{span.parent.span_id:016x}" == "b7ad6b7169203331"
        assert span.attributes["tracepack.model"] == "cell"
    assert (good.status.is_ok, bad.status.is_ok) == (True, False)
