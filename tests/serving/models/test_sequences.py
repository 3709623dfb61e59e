"""Pipelines with state: a stream of requests each with a session of its own, by tritonclient's sequences."""

from __future__ import annotations

import asyncio
import contextlib
import threading

import httpx
import numpy as np
import pytest
import torch

import tracepack
from tests.models import Counter
from tests.serving.commands import until
from tests.serving.servers import serving
from tracepack.serving import ServingConfig
from tracepack.serving.models.execution import Passage
from tracepack.serving.models.repository import Repository
from tracepack.serving.protocol.messages import InferRequest, NamedTensor

client = pytest.importorskip("tritonclient.http")


def counter() -> tracepack.Pipeline:
    """Multiplies by the number of its runs."""
    op = tracepack.script(Counter())
    return tracepack.trace(lambda x: op(x), torch.ones(2))


def asked(made, number: int | str, **flags: bool) -> float:
    one = client.InferInput("x", [2], "FP32").set_data_from_numpy(np.ones(2, "f4"))
    return made.infer("counter", [one], sequence_id=number, **flags).as_numpy("out")[0]


def test_each_sequence_has_a_state_of_its_own() -> None:
    with serving({"counter": counter()}) as address, client.InferenceServerClient(address) as made:
        assert asked(made, 1, sequence_start=True) == 1
        assert asked(made, "b", sequence_start=True) == 1
        assert [asked(made, 1), asked(made, 1), asked(made, "b")] == [2, 3, 2]
        assert asked(made, 1, sequence_end=True) == 4
        with pytest.raises(client.InferenceServerException) as caught:
            asked(made, 1)
        assert str(caught.value) == (
            "[400] model 'counter': no such sequence is open; got 1; expected sequence_start with its first request"
        )
        assert asked(made, "b") == 3
        assert asked(made, "b", sequence_start=True) == 1


def test_a_request_without_a_sequence_is_told_what_it_lacks() -> None:
    with serving({"counter": counter()}) as address:
        body = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [2], "data": [1, 1]}]}
        answer = httpx.post(f"http://{address}/v2/models/counter/infer", json=body)
        assert answer.status_code == 400
        expected = "model 'counter': the pipeline has state; expected the parameter sequence_id"
        assert answer.json() == {"error": expected}
        body["parameters"] = {"sequence_id": True, "sequence_start": True}  # in Python True is 1
        answer = httpx.post(f"http://{address}/v2/models/counter/infer", json=body)
        assert (answer.status_code, answer.json()["error"]) == (400, expected.replace("expected", "got True; expected"))


def test_idle_sequences_are_dropped() -> None:
    settings = {"sequence_idle": 0.1, "max_sequences": 2}
    with serving({"counter": counter()}, **settings) as address, client.InferenceServerClient(address) as made:

        def is_gone() -> bool:
            with contextlib.suppress(client.InferenceServerException):
                return asked(made, 3, sequence_start=True, sequence_end=True) == 1
            return False

        asked(made, 1, sequence_start=True)
        asked(made, 2, sequence_start=True)
        until(is_gone)


def test_too_many_sequences() -> None:
    with serving({"counter": counter()}, max_sequences=1) as address, client.InferenceServerClient(address) as made:
        asked(made, 1, sequence_start=True)
        with pytest.raises(client.InferenceServerException, match="too many sequences are open; expected 1 at most"):
            asked(made, 2, sequence_start=True)
        assert asked(made, 1, sequence_end=True) == 2
        assert asked(made, 2, sequence_start=True) == 1


def test_a_run_that_takes_too_long_ends_its_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes on in its thread, so that nobody knows the state, and another run must not meet it."""
    repository = Repository({"counter": {"1": counter()}}, ServingConfig.of({"timeout": 1.0}))
    repository.load_all()
    ended, run = threading.Event(), tracepack.Pipeline.run

    def slow_for_zeros(self: tracepack.Pipeline, feed: dict[str, torch.Tensor]) -> torch.Tensor:
        if not feed["x"].any():
            assert ended.wait(60)
        return run(self, feed)

    monkeypatch.setattr(tracepack.Pipeline, "run", slow_for_zeros)

    def asked(x: torch.Tensor, **flags: bool):
        request = InferRequest({"x": NamedTensor("x", "FP32", (2,), x)}, parameters={"sequence_id": 1, **flags})
        return repository.model("counter").infer(request, Passage())

    async def ask() -> list[str]:
        await asked(torch.ones(2), sequence_start=True)
        slow, next_one = asyncio.create_task(asked(torch.zeros(2))), asyncio.create_task(asked(torch.ones(2)))
        found = await asyncio.gather(slow, next_one, return_exceptions=True)
        found += await asyncio.gather(asked(torch.ones(2)), return_exceptions=True)
        assert repository.busy
        ended.set()
        while repository.busy:
            await asyncio.sleep(0.01)
        found.append((await asked(torch.ones(2), sequence_start=True)).outputs[0].value.tolist())
        return [str(each) for each in found]

    slow, waiting, later, anew = asyncio.run(ask())
    assert "the request took too long" in slow
    assert "too long" in waiting, "it may have waited for as long itself"
    assert "no such sequence is open" in later
    assert anew == "[1.0, 1.0]"


def test_requests_of_one_sequence_keep_their_order() -> None:
    repository = Repository({"counter": {"1": counter()}}, ServingConfig())
    repository.load_all()

    def request(number: int, **flags: bool) -> InferRequest:
        x = NamedTensor("x", "FP32", (2,), torch.ones(2))
        return InferRequest({"x": x}, parameters={"sequence_id": number, **flags})

    async def ask() -> list[list[float]]:
        model = repository.model("counter")
        await asyncio.gather(*(model.infer(request(n, sequence_start=True), Passage()) for n in (1, 2, 3)))
        given = [request(n) for _ in range(20) for n in (1, 2, 3)]
        answers = await asyncio.gather(*(model.infer(each, Passage()) for each in given))
        # A file that is loaded again leaves open sequences as they were.
        repository.load("counter")
        new = repository.model("counter")
        assert new is not model
        later = [await new.infer(request(1), Passage())]
        repository.load("counter")  # none began with the version between
        newest = repository.model("counter")
        later += [await newest.infer(request(n), Passage()) for n in (2, 3)]
        values = [answer.outputs[0].value[0].item() for answer in [*answers, *later]]
        return [values[n::3] for n in range(3)]

    assert asyncio.run(ask()) == [[float(run) for run in range(2, 23)]] * 3
