"""gRPC: the messages are those of the public protocol, and tritonclient gets what `Pipeline.run` gives, bit for bit."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch

import tracepack
from tests.serving.servers import cell, everything
from tracepack.serving import ServingConfig

client = pytest.importorskip("tritonclient.grpc")
FEED = {"x": np.arange(20, dtype="f4").reshape(5, 4) / 7, "h": np.linspace(-1, 1, 15, dtype="f4").reshape(5, 3)}


@contextmanager
def serving_rpc(models: dict[str, Any], **settings: Any) -> Iterator[str]:
    """A gRPC server on a loop of its own; gives its address."""
    from tracepack.serving.models.repository import Repository
    from tracepack.serving.process.server import run_to_end
    from tracepack.serving.rpc.service import rpc_server
    from tracepack.serving.telemetry.watcher import Watcher

    config = ServingConfig.of(settings)
    repository = Repository({name: {"1": model} for name, model in models.items()}, config)
    repository.load_all()
    started: queue.Queue[Any] = queue.Queue()

    async def run() -> None:
        server, ended = rpc_server(repository, config, Watcher(config)), asyncio.Event()
        started.put((server.add_insecure_port("127.0.0.1:0"), asyncio.get_running_loop(), ended))
        await server.start()
        await ended.wait()
        await server.stop(None)

    thread = threading.Thread(target=lambda: run_to_end(run()))
    thread.start()
    port, loop, ended = started.get()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join()


@pytest.fixture(scope="module")
def pipelines() -> dict[str, tracepack.Pipeline]:
    return {
        "cell": cell(),
        "upper": tracepack.trace(lambda texts: [t.upper() for t in texts], ["a", "b"]),
        "half": everything(torch.float16),
        "whole": everything(torch.int64),
    }


@pytest.fixture(scope="module")
def address(pipelines) -> Iterator[str]:
    with serving_rpc(pipelines, max_body=100_000) as address:
        yield address


@pytest.fixture(scope="module")
def triton(address) -> Iterator[client.InferenceServerClient]:
    with client.InferenceServerClient(address) as made:
        yield made


def inputs(feed, kind: str = "FP32") -> list:
    return [client.InferInput(n, list(v.shape), kind).set_data_from_numpy(v) for n, v in feed.items()]


def test_the_messages_are_those_of_the_public_protocol() -> None:
    theirs = pytest.importorskip("tritonclient.grpc.service_pb2")
    from tracepack.serving.protocol.protobuf import MESSAGES, message

    for name in MESSAGES:
        found = theirs
        for part in name.split("."):
            found = getattr(found, part)
        public = {field.name: field for field in found.DESCRIPTOR.fields}
        for field in message(name).DESCRIPTOR.fields:
            other = public[field.name]
            assert (field.number, field.type, field.is_repeated) == (other.number, other.type, other.is_repeated), name
            if field.message_type is not None:
                assert field.message_type.full_name == other.message_type.full_name


def test_tritonclient_gets_the_bits_of_a_run(triton, pipelines) -> None:
    wanted = [client.InferRequestedOutput("scores"), client.InferRequestedOutput("state")]
    answer = triton.infer("cell", inputs(FEED), outputs=wanted, request_id="a 7", model_version="1")
    expected = pipelines["cell"].run(FEED)
    assert [row.name for row in answer.get_response().outputs] == ["scores", "state"]
    assert (answer.get_response().id, answer.get_response().model_name) == ("a 7", "cell")
    for name in expected:
        assert answer.as_numpy(name).tobytes() == expected[name].numpy().tobytes()


def test_texts_and_other_dtypes(triton) -> None:
    texts = np.array(["grün", ""], dtype=object)
    assert triton.infer("upper", inputs({"texts": texts}, "BYTES")).as_numpy("out").tolist() == ["GRÜN".encode(), b""]
    half = np.array([[1.5, 2], [0.1, -7]], dtype="f2")
    assert triton.infer("half", inputs({"x": half}, "FP16")).as_numpy("out").tobytes() == half[::-1].tobytes()


def test_typed_contents_in_place_of_bytes(address) -> None:
    import grpc

    from tracepack.serving.protocol.protobuf import SERVICE, message

    request = message("ModelInferRequest")(model_name="whole")
    row = request.inputs.add(name="x", datatype="INT64", shape=[2, 2])
    row.contents.int64_contents.extend([1, -2, 3, 1 << 62])
    with grpc.insecure_channel(address) as channel:
        infer = channel.unary_unary(f"/{SERVICE}/ModelInfer", type(request).SerializeToString, lambda data: data)
        answer = message("ModelInferResponse").FromString(infer(request))
    assert np.frombuffer(answer.raw_output_contents[0], "i8").tolist() == [3, 1 << 62, 1, -2]


def test_health_metadata_and_the_repository(triton) -> None:
    assert triton.is_server_live()
    assert triton.is_server_ready()
    assert triton.is_model_ready("cell")
    described = triton.get_model_metadata("cell", as_json=True)
    assert described["inputs"] == [
        {"name": "x", "datatype": "FP32", "shape": ["-1", "4"]},
        {"name": "h", "datatype": "FP32", "shape": ["-1", "3"]},
    ]  # fmt: skip
    assert triton.get_server_metadata().name == "tracepack"
    triton.unload_model("half")
    assert not triton.is_model_ready("half")
    states = {row.name: row.state for row in triton.get_model_repository_index().models}
    assert states == {"cell": "READY", "upper": "READY", "half": "UNAVAILABLE", "whole": "READY"}
    triton.load_model("half")
    assert triton.is_model_ready("half")


@pytest.mark.parametrize(
    ("model", "feed", "code", "text"),
    [
        ("cell", {"x": FEED["x"]}, "INVALID_ARGUMENT", "input 'h': missing input; expected FP32 [-1, 3]"),
        ("cell", {**FEED, "x": FEED["h"]}, "INVALID_ARGUMENT", "input 'x': dimension 1 has a wrong size; got 3"),
        ("none", FEED, "NOT_FOUND", "model 'none': unknown model"),
        ("cell", {**FEED, "x": np.zeros((50_000, 4), "f4")}, "RESOURCE_EXHAUSTED", "larger than max"),
    ],
)
def test_bad_requests(triton, model, feed, code, text) -> None:
    with pytest.raises(client.InferenceServerException) as caught:
        triton.infer(model, inputs(feed))
    assert caught.value.status() == f"StatusCode.{code}"
    assert text in caught.value.message()


def test_a_stream_goes_on_after_a_bad_request(address, pipelines) -> None:
    got: queue.Queue = queue.Queue()
    with client.InferenceServerClient(address) as made:
        made.start_stream(lambda result, error: got.put((result, error)))
        made.async_stream_infer("cell", inputs(FEED), request_id="1")
        made.async_stream_infer("cell", inputs({"x": FEED["x"]}), request_id="2")
        made.async_stream_infer("cell", inputs(FEED), request_id="3")
        answers = [got.get(timeout=60) for _ in range(3)]
        made.stop_stream()
    expected = pipelines["cell"].run(FEED)["state"].numpy().tobytes()
    assert [answers[index][0].as_numpy("state").tobytes() == expected for index in (0, 2)] == [True, True]
    assert "input 'h': missing input" in answers[1][1].message()


def test_the_asynchronous_client(address, pipelines) -> None:
    aio = pytest.importorskip("tritonclient.grpc.aio")

    async def ask() -> bytes:
        async with aio.InferenceServerClient(address) as made:
            answers = await asyncio.gather(*(made.infer("cell", inputs(FEED)) for _ in range(8)))
            return b"".join(answer.as_numpy("state").tobytes() for answer in answers)

    assert asyncio.run(ask()) == pipelines["cell"].run(FEED)["state"].numpy().tobytes() * 8


def test_a_token() -> None:
    with serving_rpc({"cell": cell()}, token="secret") as address, client.InferenceServerClient(address) as made:
        assert made.is_server_live()
        for headers in ({}, {"authorization": "Bearer wrong"}):
            with pytest.raises(client.InferenceServerException, match="no valid token"):
                made.infer("cell", inputs(FEED), headers=headers)
        assert made.infer("cell", inputs(FEED), headers={"authorization": "Bearer secret"}).as_numpy("state").shape == (
            5,
            3,
        )


def test_bytes_that_are_no_message_are_named(address) -> None:
    import grpc

    place = "/inference.GRPCInferenceService/Model"
    with grpc.insecure_channel(address) as channel:
        with pytest.raises(grpc.RpcError) as failed:
            channel.unary_unary(f"{place}Infer")(b"\x0a\xff", timeout=30)
        assert failed.value.code() == grpc.StatusCode.INVALID_ARGUMENT
        assert failed.value.details() == "the bytes are no ModelInferRequest; got 2 bytes"
        (answer,) = channel.stream_stream(f"{place}StreamInfer")(iter([b"\x0a\xff"]), timeout=30)
        assert b"the bytes are no ModelInferRequest" in answer


@contextmanager
def unsent(address: str, calls: int, **metadata: str) -> Iterator[list[Any]]:
    """Calls of ``ModelInfer`` that have begun, and whose request does not come."""
    import grpc

    ended = threading.Event()

    def requests() -> Iterator[bytes]:  # gRPC sends the head of the call, and no message
        ended.wait(60)
        yield from ()

    with grpc.insecure_channel(address) as channel:
        method = channel.stream_unary("/inference.GRPCInferenceService/ModelInfer")
        yield [method.future(requests(), metadata=[*metadata.items()]) for _ in range(calls)]
        ended.set()


def test_a_request_that_does_not_come_holds_its_place_for_a_time_only(pipelines) -> None:
    with serving_rpc({"cell": pipelines["cell"]}, timeout=1.0, max_connections=3) as address:
        with unsent(address, 3) as calls, client.InferenceServerClient(address) as triton:
            for call in calls:
                error = call.exception(timeout=30)
                assert error.code().name == "DEADLINE_EXCEEDED"
                assert error.details() == "the request did not come in time; expected within 1 s"
            found = triton.infer("cell", inputs(FEED))
        assert np.array_equal(found.as_numpy("state"), pipelines["cell"].run(FEED)["state"].numpy())


def test_a_token_is_asked_for_before_the_request_is_read(pipelines) -> None:
    with (
        serving_rpc({"cell": pipelines["cell"]}, token="secret") as address,
        unsent(address, 1) as (refused,),
        unsent(address, 1, authorization="Bearer secret") as (kept,),
    ):
        assert refused.exception(timeout=30).code().name == "UNAUTHENTICATED"
        assert not kept.done()
        kept.cancel()


def test_a_call_without_a_message_is_refused(address) -> None:
    import grpc

    with grpc.insecure_channel(address) as channel, pytest.raises(grpc.RpcError) as raised:
        channel.stream_unary("/inference.GRPCInferenceService/ModelInfer")(iter([]), timeout=30)
    assert raised.value.code().name == "INVALID_ARGUMENT"
    assert raised.value.details() == "the call has no message; expected one"


def test_what_still_waits_when_a_server_ends_is_cancelled() -> None:
    from tracepack.serving.process.server import run_to_end

    seen: list[str] = []
    kept: list[asyncio.Future[None]] = []

    async def waits(name: str) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            seen.append(name)

    async def served() -> None:
        kept.append(asyncio.ensure_future(waits("early")))
        await asyncio.sleep(0)
        kept.append(asyncio.ensure_future(waits("late")))

    run_to_end(served())
    assert all(each.cancelled() for each in kept)
    assert "early" in seen
