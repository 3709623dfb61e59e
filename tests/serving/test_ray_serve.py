"""Pipelines as a deployment of Ray Serve on a cluster of this machine: replicas that die, and new files, under load."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import tracepack
from tracepack import serving

ray = pytest.importorskip("ray", reason="the extra 'ray' is not installed")
pytest.importorskip("ray.serve", reason="the extra 'ray' is not installed")
httpx = pytest.importorskip("httpx")

pytestmark = [
    pytest.mark.campaign,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
]


def saved(path: Path, factor: int) -> Path:
    mod = tracepack.trace(lambda x: x * factor, torch.rand(2, 3))
    mod.save(path, examples=[{"x": torch.rand(2, 3)}])
    return path


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address of Ray Serve on a cluster of two CPUs."""
    from ray import serve

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    serve.start(http_options={"port": port, "host": "127.0.0.1"})
    yield f"http://127.0.0.1:{port}"
    serve.shutdown()
    ray.shutdown()


class Load:
    """Clients that ask for as long as this is entered; their answers, and the errors of their requests."""

    def __init__(self, url: str, clients: int = 4) -> None:
        self.url, self.answers, self.lost, self._ended = url, [], [], threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(number,)) for number in range(clients)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exc: Any) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(60)

    def _ask(self, number: int) -> None:
        with httpx.Client(timeout=30) as client:
            while not self._ended.is_set():
                row = [float(number), float(len(self.answers) % 1000), 1.0]
                try:
                    answer = client.post(self.url, json={"x": [row]})
                    answer.raise_for_status()
                    self.answers.append((row, answer.json()))
                except httpx.HTTPError as error:
                    self.lost.append((time.monotonic(), str(error)))


def replicas() -> dict[int, str]:
    """The processes of the replicas."""
    found = {}
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            title = (folder / "cmdline").read_bytes().decode(errors="replace")
            if title.startswith("ray::ServeReplica"):
                found[int(folder.name)] = title
    return found


def wait(condition: Any, seconds: float = 90) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it took too long"
        time.sleep(0.1)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds the replicas in /proc")
def test_a_killed_replica_and_a_new_file_lose_no_request_but_those_on_it(address, tmp_path) -> None:
    from ray import serve

    path = saved(tmp_path / "scaled.tpk", 2)
    serve.run(serving.ray_app(path, replicas=2, cpus=0.1, max_batch=4), name="scaled", route_prefix="/")
    wait(lambda: len(replicas()) == 2)
    with Load(f"{address}/v1/scaled") as load:
        wait(lambda: len(load.answers) > 50)
        killed = next(iter(replicas()))
        os.kill(killed, signal.SIGKILL)
        wait(lambda: len(replicas()) == 2 and killed not in replicas())
        answered = len(load.answers)
        wait(lambda: len(load.answers) > answered + 50)
        in_flight = len(load.lost)
        assert in_flight <= 4, load.lost  # each client waited for one answer at most
        saved(tmp_path / "new.tpk", 3).replace(path)
        serve.run(serving.ray_app(path, replicas=2, cpus=0.1, max_batch=4), name="scaled", route_prefix="/")
        answered = len(load.answers)
        wait(lambda: len(load.answers) > answered + 50)
        assert len(load.lost) == in_flight, load.lost
    factors = {round(answer[0][1] / row[1]) for row, answer in load.answers if row[1]}
    assert all(answer in ([[n * f for n in row]] for f in (2, 3)) for row, answer in load.answers)
    assert factors == {2, 3}
    assert load.answers[-1][1][0] == [3 * n for n in load.answers[-1][0]]
    with httpx.Client() as client:
        answer = client.post(f"{address}/v2/repository/models/scaled/unload")
        assert (answer.status_code, answer.json()["error"]) == (
            403, "model 'scaled': a replica of Ray Serve does not change its models: deploy the application again"
        )  # fmt: skip
        wrong = client.post(f"{address}/v1/scaled", json={"y": [[1, 2, 3]]})
        assert (wrong.status_code, "'y'" in wrong.json()["error"]) == (400, True)
    serve.delete("scaled")


def test_a_file_that_changed_since_it_was_deployed_is_not_served(tmp_path) -> None:
    from tracepack.pipeline.opening import digest_of
    from tracepack.serialization.container.archive import Archive
    from tracepack.serving.process.ray_serve import replica

    path = saved(tmp_path / "scaled.tpk", 2)
    files = {"scaled": (str(path), digest_of(Archive(path)))}
    assert replica(files, {}).routes
    saved(path, 3)
    with pytest.raises(tracepack.ArchiveError, match="the file is another one than the pipeline was loaded from"):
        replica(files, {})


def test_what_cannot_be_deployed_is_an_error_of_the_call(tmp_path) -> None:
    class Counter(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("seen", torch.zeros(()))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.seen += 1
            return x + self.seen

    op = tracepack.script(Counter())
    tracepack.trace(lambda x: op(x), torch.rand(2)).save(tmp_path / "counter.tpk")
    with pytest.raises(tracepack.SignatureError, match=r"model 'counter': a pipeline with state needs one replica"):
        serving.ray_app(tmp_path / "counter.tpk", replicas=(1, 2))
    assert serving.ray_app({"counter": tmp_path / "counter.tpk"})
    with pytest.raises(tracepack.SignatureError, match="no number of replicas; got 0"):
        serving.ray_app(tmp_path / "counter.tpk", replicas=0)
    with pytest.raises(tracepack.SignatureError, match="max_bach: unknown setting"):
        serving.ray_app(tmp_path / "counter.tpk", max_bach=2)
    with pytest.raises(tracepack.ArchiveError, match="no such file"):
        serving.ray_app(tmp_path / "none.tpk")
