"""``tracepack serve`` as processes: a killed worker, signals, new versions of files, and what cannot be served."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import httpx
import pytest
import torch

import tracepack
from tests.models import Counter
from tests.serving.commands import Running, served, until

pytest.importorskip("starlette", reason="the extra serve is not installed")
BODY = {"x": [1.0, 2.0]}


def scaling(factor: float, path: Path) -> Path:
    """A file that multiplies by a factor, with a golden example."""
    mod = tracepack.trace(lambda x: x * factor, torch.ones(3))
    mod.save(path, examples=[{"x": torch.arange(3.0)}])
    return path


def ask(running: Running, model: str = "scale") -> httpx.Response:
    return httpx.post(f"{running.url}/v1/{model}", json=BODY, timeout=60)


class Client(threading.Thread):
    """Asks one request after the other until it is told to end, and keeps every answer and every failure."""

    def __init__(self, running: Running) -> None:
        super().__init__()
        self.running, self.answers, self.failures, self.ended = running, [], [], threading.Event()

    def run(self) -> None:
        while not self.ended.is_set():
            try:
                answer = ask(self.running)
                self.answers.append((answer.status_code, answer.json()))
            except httpx.HTTPError as error:
                self.failures.append(error)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.join()


def test_a_killed_worker_costs_its_own_requests_and_comes_back(tmp_path) -> None:
    with served(tmp_path, scaling(3.0, tmp_path / "scale.tpk"), "--workers", 2) as running:
        before = set(running.workers())
        assert len(before) == 2
        with Client(running) as client:
            until(lambda: len(client.answers) > 5)
            victim = min(before)
            os.kill(victim, signal.SIGKILL)
            # Another one is there, and both answer: the one that is left is killed next.
            until(lambda: len(set(running.workers()) - {victim}) == 2)
            until(lambda: running.log.read_text().count("another one starts") == 1)
            until(lambda: len(client.answers) > 50)
        assert set(map(repr, client.answers)) == {repr((200, [3.0, 6.0]))}
        assert len(client.failures) <= 1, client.failures
        new = (set(running.workers()) - before).pop()
        until(lambda: is_serving(running, new))
        for pid in before - {victim}:
            os.kill(pid, signal.SIGKILL)
        assert until(lambda: ask(running).json()) == [3.0, 6.0]


def is_serving(running: Running, pid: int) -> bool:
    """Whether a worker has torch's threads and its loop; the supervisor starts one with neither."""
    return len(os.listdir(f"/proc/{pid}/task")) > 0 and "libtorch" in Path(f"/proc/{pid}/maps").read_text()


def test_sigterm_answers_what_has_begun(tmp_path) -> None:
    def count(x, runs):
        return tracepack.while_loop(lambda i, v: i < runs, lambda i, v: (i + 1, v + 1), 0, x)[1]

    tracepack.trace(count, torch.ones(2), 3).save(tmp_path / "slow.tpk")
    with served(tmp_path, tmp_path / "slow.tpk") as running:
        answers: list[httpx.Response] = []
        body = {**BODY, "runs": 100_000}
        thread = threading.Thread(
            target=lambda: answers.append(httpx.post(f"{running.url}/v1/slow", json=body, timeout=60))
        )
        thread.start()
        pending = 'tracepack_requests_pending{model="slow",version="1"} 1.0'
        until(lambda: pending in httpx.get(f"{running.url}/metrics", timeout=60).text)
        running.process.send_signal(signal.SIGTERM)
        thread.join()
        assert running.process.wait(60) == 0
        assert (answers[0].status_code, answers[0].json()) == (200, [100_001.0, 100_002.0])
        with pytest.raises(httpx.ConnectError):
            ask(running, "slow")


def test_sighup_takes_a_new_file_and_keeps_the_old_one_where_examples_fail(tmp_path) -> None:
    path = scaling(3.0, tmp_path / "scale.tpk")
    with served(tmp_path, tmp_path) as running, Client(running) as client:
        until(lambda: client.answers)
        os.replace(scaling(5.0, tmp_path / "new"), path)
        running.process.send_signal(signal.SIGHUP)
        until(lambda: ask(running).json() == [5.0, 10.0])
        path_bad = tmp_path / "bad"
        shutil.copy(path, path_bad)
        data = bytearray(path_bad.read_bytes())
        data[len(data) // 2] ^= 255
        path_bad.write_bytes(data)
        os.replace(path_bad, path)
        running.process.send_signal(signal.SIGHUP)
        until(lambda: "stays as it was" in running.log.read_text())
        assert ask(running).json() == [5.0, 10.0]
        index = httpx.post(f"{running.url}/v2/repository/index").json()
        assert index == [{"name": "scale", "version": "1", "state": "READY", "reason": ""}]
        client.ended.set()
        client.join()
        assert client.failures == []
        assert set(map(repr, client.answers)) == {repr((200, [3.0, 6.0])), repr((200, [5.0, 10.0]))}


def test_watch_loads_what_is_replaced_and_what_is_new(tmp_path) -> None:
    path = scaling(3.0, tmp_path / "scale.tpk")
    with served(tmp_path, tmp_path, "--watch") as running:
        os.replace(scaling(5.0, tmp_path / "new"), path)
        until(lambda: ask(running).json() == [5.0, 10.0])
        os.replace(scaling(7.0, tmp_path / "new"), tmp_path / "other.tpk")
        until(lambda: ask(running, "other").status_code == 200)
        assert ask(running, "other").json() == [7.0, 14.0]


def test_a_model_that_one_worker_unloads_is_unloaded_in_all(tmp_path) -> None:
    scaling(3.0, tmp_path / "scale.tpk")
    scaling(4.0, tmp_path / "other.tpk")
    with served(tmp_path, tmp_path, "--workers", 2) as running:
        assert httpx.post(f"{running.url}/v2/repository/models/other/unload").status_code == 200
        until(lambda: {ask(running, "other").status_code for _ in range(20)} == {503})
        killed = running.workers()
        os.kill(killed[0], signal.SIGKILL)
        until(lambda: len(set(running.workers()) - {killed[0]}) == 2)
        os.kill(killed[1], signal.SIGKILL)  # only the new one is left, which must know of it
        assert ask(running, "other").status_code == 503
        assert ask(running).json() == [3.0, 6.0]
        assert httpx.post(f"{running.url}/v2/repository/models/other/load").status_code == 200
        until(lambda: {ask(running, "other").status_code for _ in range(20)} == {200})


def test_versions_of_a_model(tmp_path) -> None:
    folder = tmp_path / "models" / "scale"
    folder.mkdir(parents=True)
    for version in (2, 10):
        scaling(float(version), folder / f"{version}.tpk")
    with served(tmp_path, tmp_path / "models") as running:
        assert httpx.get(f"{running.url}/v2/models/scale").json()["versions"] == ["10", "2"]
        row = {"name": "x", "datatype": "FP32", "shape": [2], "data": [1, 2]}
        for path, factor in (("", 10), ("/versions/2", 2), ("/versions/10", 10)):
            answer = httpx.post(f"{running.url}/v2/models/scale{path}/infer", json={"inputs": [row]}).json()
            assert answer["model_version"] == str(factor)
            assert answer["outputs"][0]["data"] == [factor, 2 * factor]
        assert httpx.get(f"{running.url}/v2/models/scale/versions/3/ready").status_code == 404


def failing(*arguments: object) -> tuple[int, str]:
    """The exit code and the words of a server that cannot start."""
    command = [sys.executable, "-m", "tracepack", "serve", *map(str, arguments), "--http-port", "0", "--grpc-port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stderr.strip()


def test_what_cannot_be_served_is_said_at_the_start(tmp_path) -> None:
    op = tracepack.script(Counter())
    tracepack.trace(lambda x: op(x), torch.ones(2)).save(tmp_path / "counter.tpk")
    code, text = failing(tmp_path / "counter.tpk", "--workers", 2)
    assert code == 6
    assert "model 'counter': a pipeline with state is served by one process; got 2 workers" in text
    code, text = failing(tmp_path / "none.tpk")
    assert code == 3
    assert "none.tpk" in text
    (tmp_path / "empty").mkdir()
    assert failing(tmp_path / "empty") == (
        3, f"tracepack: {tmp_path}/empty: the folder holds no models; expected *.tpk, NAME/1.tpk"
    )  # fmt: skip
    (tmp_path / "token").write_text("\n")
    code, text = failing(tmp_path / "counter.tpk", "--token-file", tmp_path / "token")
    assert (code, text) == (3, f"tracepack: {tmp_path}/token: the file of the token is empty")
    code, text = failing(tmp_path / "counter.tpk", "--tls-cert", "a.pem")
    assert (code, text) == (6, "tracepack: TLS needs a certificate and its key; got one of them")
