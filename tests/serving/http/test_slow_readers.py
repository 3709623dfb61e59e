"""Clients that do not take their answers: their connections end, and those of slow ones do not."""

from __future__ import annotations

import contextlib
import json
import socket

import httpx
import pytest
import torch

import tracepack
from tests.serving.commands import served, until

pytest.importorskip("uvicorn", reason="the extra serve is not installed")
from tracepack.serving.http.connections import LEAST_TAKEN, _Outgoing


class Clock:
    """A loop whose timers run when the test says so."""

    def __init__(self) -> None:
        self.due = []

    def call_later(self, seconds, call):
        assert seconds == 5.0
        self.due.append(call)
        return self

    def cancel(self) -> None:
        self.due.clear()

    def passes(self) -> None:
        due, self.due = self.due, []
        for call in due:
            call()


class Pipe:
    """A transport whose client takes what the test says."""

    def __init__(self) -> None:
        self.waiting, self.ended = 0, False

    def is_closing(self) -> bool:
        return self.ended

    def write(self, data: bytes) -> None:
        self.waiting += len(data)

    def get_write_buffer_size(self) -> int:
        return self.waiting

    def abort(self) -> None:
        self.ended = True


@pytest.mark.parametrize(
    ("taken", "ended"),
    [
        ([0, 0], True),
        ([0, LEAST_TAKEN, LEAST_TAKEN, LEAST_TAKEN, LEAST_TAKEN], False),
        ([LEAST_TAKEN, LEAST_TAKEN, LEAST_TAKEN - 1], True),
        ([4 * LEAST_TAKEN], False),
        ([1, 4 * LEAST_TAKEN - 1], False),
    ],
)
def test_who_takes_hardly_anything_is_left(taken: list[int], ended: bool) -> None:
    pipe, clock = Pipe(), Clock()
    outgoing = _Outgoing(pipe, clock, 5.0)
    outgoing.write(bytes(4 * LEAST_TAKEN))
    for count in taken:
        assert not pipe.ended
        pipe.waiting -= count
        clock.passes()
    assert pipe.ended == ended
    assert bool(clock.due) == bool(pipe.waiting and not ended)


def test_an_answer_that_was_written_just_before_the_look_has_its_time() -> None:
    pipe, clock = Pipe(), Clock()
    outgoing = _Outgoing(pipe, clock, 5.0)
    for _ in range(20):  # each time the one before was taken, and the next was just written
        pipe.waiting = 0
        outgoing.write(b"abc")
        clock.passes()
    assert not pipe.ended
    clock.passes()
    assert pipe.ended
    outgoing.write(b"abc")
    assert pipe.waiting == 3


def test_clients_that_do_not_read_leave_room_for_others(tmp_path) -> None:
    """One connection is allowed. Its answer of 64 MB is not read, before it ends another client is refused."""
    tracepack.trace(lambda x: x.expand(x.shape[0], 4000) * 1, torch.rand(3, 1)).save(tmp_path / "wide.tpk")
    rows = 4000
    wanted = {"inputs": [{"name": "x", "shape": [rows, 1], "datatype": "FP32", "data": [1] * rows}]}
    body = json.dumps({**wanted, "parameters": {"binary_data_output": True}}).encode()
    head = b"POST /v2/models/wide/infer HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\n" % len(body)
    with served(tmp_path, tmp_path / "wide.tpk", "--max-connections", 1, "--timeout", 2) as running:
        host, port = running.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=60) as slow:
            slow.sendall(head + body)
            assert slow.recv(12) == b"HTTP/1.1 200"
            live = f"{running.url}/v2/health/live"
            assert httpx.get(live).status_code == 429
            until(lambda: httpx.get(live).status_code == 200)
            got = 0
            with contextlib.suppress(ConnectionResetError):
                got = sum(map(len, iter(lambda: slow.recv(1 << 20), b"")))
            assert got < 4 * 4000 * rows
        answer = httpx.post(f"{running.url}/v2/models/wide/infer", content=body)
        assert (answer.status_code, len(answer.content) > 4 * 4000 * rows) == (200, True)
        assert "Traceback" not in running.log.read_text(encoding="utf-8")
