"""The clients that people use get what `Pipeline.run` gives, bit for bit: tritonclient, curl and plain HTTP."""

from __future__ import annotations

import asyncio
import gzip
import json
import shutil
import subprocess
import zlib
from collections.abc import Iterator

import httpx
import numpy as np
import pytest
import torch

import tracepack
from tests.serving.servers import cell, everything, serving

client = pytest.importorskip("tritonclient.http")

DTYPES = {
    "bool": "BOOL", "uint8": "UINT8", "uint16": "UINT16", "uint32": "UINT32", "uint64": "UINT64", "int8": "INT8",
    "int16": "INT16", "int32": "INT32", "int64": "INT64", "float16": "FP16", "float32": "FP32", "float64": "FP64",
}  # fmt: skip
X, H = torch.rand(5, 4, generator=torch.Generator().manual_seed(1)).numpy(), np.linspace(-1, 1, 15, dtype="f4")
FEED = {"x": X, "h": H.reshape(5, 3)}


@pytest.fixture(scope="module")
def pipelines() -> dict[str, tracepack.Pipeline]:
    return {
        "cell": cell(),
        "upper": tracepack.trace(lambda texts, mark: [t.upper() + mark for t in texts], ["a", "b"], "!"),
        "nested": tracepack.trace(
            lambda batch, k: (batch["a"][0] * k, [batch["b"]]), {"a": (torch.rand(3),), "b": torch.rand(2)}, 2
        ),
        **{name: everything(getattr(torch, name)) for name in (*DTYPES, "bfloat16")},
    }


@pytest.fixture(scope="module")
def server(pipelines) -> Iterator[str]:
    with serving(pipelines) as address:
        yield address


@pytest.fixture(scope="module")
def triton(server) -> Iterator[client.InferenceServerClient]:
    with client.InferenceServerClient(server) as made:
        yield made


def inputs(feed, binary: bool = True) -> list:
    found = []
    for name, value in feed.items():
        kind = "BYTES" if value.dtype == object else DTYPES[str(value.dtype)]
        found.append(client.InferInput(name, list(value.shape), kind).set_data_from_numpy(value, binary_data=binary))
    return found


@pytest.mark.parametrize("binary_in", [True, False])
@pytest.mark.parametrize("binary_out", [True, False])
def test_tritonclient_gets_the_bits_of_a_run(triton, pipelines, binary_in, binary_out) -> None:
    wanted = [client.InferRequestedOutput(name, binary_data=binary_out) for name in ("scores", "state")]
    answer = triton.infer("cell", inputs(FEED, binary_in), outputs=wanted, request_id="a 7")
    expected = pipelines["cell"].run(FEED)
    assert answer.get_response()["id"] == "a 7"
    assert [row["name"] for row in answer.get_response()["outputs"]] == ["scores", "state"]
    assert all(("data" in row) != binary_out for row in answer.get_response()["outputs"])
    for name in expected:
        assert answer.as_numpy(name).tobytes() == expected[name].numpy().tobytes()


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("binary", [True, False])
def test_each_datatype(triton, name, binary) -> None:
    if name == "bool":
        value = np.array([[True, False], [False, True], [True, True]])
    elif name.startswith("f"):
        value = np.array([[0.1, -2.5], [1e4, 3.0], [0.0, 7.25]]).astype(name)
    else:
        info = np.iinfo(name)
        value = np.array([[info.min, info.max], [0, 1], [info.max - 1, 2]], dtype=name)
    if name == "float16" and not binary:
        pytest.skip("tritonclient has no FP16 in JSON; test_half_precision_in_json sends it")
    answer = triton.infer(name, inputs({"x": value}, binary)).as_numpy("out")
    assert answer.dtype == value.dtype
    assert answer.tobytes() == value[::-1].tobytes()


def test_half_precision_in_json(server) -> None:
    for name, kind in (("float16", "FP16"), ("bfloat16", "BF16")):
        body = {"inputs": [{"name": "x", "datatype": kind, "shape": [2, 2], "data": [[0.5, 1.5], [-2.0, 100.0]]}]}
        answer = httpx.post(f"http://{server}/v2/models/{name}/infer", json=body).json()
        assert answer["outputs"] == [
            {"name": "out", "datatype": kind, "shape": [2, 2], "data": [-2.0, 100.0, 0.5, 1.5]}
        ]


def test_bfloat16_as_bytes(server) -> None:
    value = torch.tensor([[1.0, -3.0], [0.5, 2.0]], dtype=torch.bfloat16)
    raw = value.view(torch.uint8).numpy().tobytes()
    row = {"name": "x", "datatype": "BF16", "shape": [2, 2], "parameters": {"binary_data_size": 8}}
    head = json.dumps({"inputs": [row], "parameters": {"binary_data_output": True}}).encode()
    sent = {"Inference-Header-Content-Length": str(len(head))}
    answer = httpx.post(f"http://{server}/v2/models/bfloat16/infer", content=head + raw, headers=sent)
    end = int(answer.headers["Inference-Header-Content-Length"])
    assert answer.content[end:] == value.flip(0).contiguous().view(torch.uint8).numpy().tobytes()


@pytest.mark.parametrize("binary", [True, False])
def test_texts_travel_as_bytes(triton, binary) -> None:
    texts = np.array(["grün", "", "日本"], dtype=object)
    feed = {"texts": texts, "mark": np.array(["?"], dtype=object)}
    answer = triton.infer("upper", inputs(feed, binary)).as_numpy("out")
    assert [item.decode() if isinstance(item, bytes) else item for item in answer] == ["GRÜN?", "?", "日本?"]


def test_containers_and_numbers_by_plain_names(triton, pipelines) -> None:
    named = {"batch.a.0": np.ones(3, "f4"), "batch.b": np.arange(2, dtype="f4"), "k": np.array([7])}
    described = triton.get_model_metadata("nested")
    assert [(row["name"], row["datatype"], row["shape"]) for row in described["inputs"]] == [
        ("batch.a.0", "FP32", [-1]), ("batch.b", "FP32", [-1]), ("k", "INT64", [1]),
    ]  # fmt: skip
    answer = triton.infer("nested", inputs(named))
    assert answer.as_numpy("out.0").tolist() == [7, 7, 7]
    assert answer.as_numpy("out.1.0").tolist() == [0, 1]


def test_health_and_metadata(triton, server) -> None:
    assert triton.is_server_live()
    assert triton.is_server_ready()
    assert triton.is_model_ready("cell")
    assert triton.is_model_ready("cell", "1")
    assert not triton.is_model_ready("cell", "2")
    assert "binary_tensor_data" in triton.get_server_metadata()["extensions"]
    described = triton.get_model_metadata("cell", "1")
    assert described["versions"] == ["1"]
    assert described["inputs"] == [
        {"name": "x", "datatype": "FP32", "shape": [-1, 4]}, {"name": "h", "datatype": "FP32", "shape": [-1, 3]},
    ]  # fmt: skip
    assert [row["name"] for row in described["outputs"]] == ["state", "scores"]
    assert httpx.get(f"http://{server}/v2/health/live").json() == {"live": True}
    assert httpx.get(f"http://{server}/v2/health/ready").json() == {"ready": True}
    assert httpx.get(f"http://{server}/v2/models/cell/ready").json() == {"name": "cell", "ready": True}


@pytest.mark.parametrize("way", ["gzip", "deflate"])
def test_packed_bodies(triton, pipelines, way) -> None:
    answer = triton.infer("cell", inputs(FEED), request_compression_algorithm=way)
    assert answer.as_numpy("state").tobytes() == pipelines["cell"].run(FEED)["state"].numpy().tobytes()


@pytest.mark.parametrize(
    ("name", "pack"), [("GZIP", gzip.compress), ("x-gzip", gzip.compress), ("Deflate", zlib.compress)]
)
def test_names_of_codings_are_of_any_case(server, name, pack) -> None:
    body = {"inputs": [{"name": "x", "datatype": "FP16", "shape": [1, 2], "data": [1, 2]}]}
    answer = httpx.post(
        f"http://{server}/v2/models/float16/infer",
        content=pack(json.dumps(body).encode()),
        headers={"content-encoding": name},
    )
    assert answer.json()["outputs"][0]["data"] == [1, 2]


def test_what_is_not_there_may_be_null(server) -> None:
    """As models of pydantic write it."""
    row = {"name": "x", "datatype": "FP16", "shape": [1, 2], "data": [1, 2], "parameters": None}
    body = {"id": None, "parameters": None, "inputs": [row], "outputs": None}
    answer = httpx.post(f"http://{server}/v2/models/float16/infer", json=body)
    assert answer.json()["outputs"][0]["data"] == [1, 2]
    answer = httpx.post(f"http://{server}/v2/models/float16/infer", json={**body, "inputs": None})
    assert (answer.status_code, answer.json()["error"]) == (
        400,
        'the request has no inputs; expected {"inputs": [...]}',
    )


def test_the_asynchronous_client(server, pipelines) -> None:
    aio = pytest.importorskip("tritonclient.http.aio")

    async def ask() -> np.ndarray:
        async with aio.InferenceServerClient(server) as made:
            answers = await asyncio.gather(*(made.infer("cell", inputs(FEED)) for _ in range(8)))
            return np.stack([answer.as_numpy("state") for answer in answers])

    expected = pipelines["cell"].run(FEED)["state"].numpy()
    assert asyncio.run(ask()).tobytes() == np.stack([expected] * 8).tobytes()


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_curl_without_a_content_type(server, pipelines) -> None:
    rows = [{"name": n, "datatype": "FP32", "shape": list(v.shape), "data": v.tolist()} for n, v in FEED.items()]
    command = ["curl", "-sS", f"http://{server}/v2/models/cell/versions/1/infer", "-d", json.dumps({"inputs": rows})]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert answer["model_name"], answer["model_version"] == ("cell", "1")
    expected = pipelines["cell"].run(FEED)
    for row in answer["outputs"]:
        assert np.array(row["data"], "f4").tobytes() == expected[row["name"]].numpy().tobytes()
