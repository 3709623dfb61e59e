"""``tracepack serve`` as processes: a killed worker, signals, new versions of files, and what cannot be served."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest
import torch

import tracepack
from tests.models import Counter
from tests.serving.commands import Running, served, until
from tracepack.cli import main
from tracepack.pipeline.comparing.golden import golden_terms
from tracepack.serialization.program import save_program

pytest.importorskip("starlette", reason="the extra serve is not installed")
BODY = {"x": [1.0, 2.0]}


def scaling(factor: float, path: Path) -> Path:
    """A file that multiplies by a factor, with a golden example."""
    mod = tracepack.trace(lambda x: x * factor, torch.ones(3))
    mod.save(path, examples=[{"x": torch.arange(3.0)}])
    return path


def lying(path: Path) -> Path:
    """A whole file whose golden example the pipeline does not give."""
    mod = tracepack.trace(lambda x: x * 7.0, torch.ones(3))
    example = ({"x": torch.arange(3.0)}, torch.zeros(3))
    save_program(path, mod.program, [example], golden_terms(mod.graph, mod.placement.values(), None))
    with pytest.raises(tracepack.GoldenMismatchError):
        tracepack.load(path, verify="golden")
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
    scaling(3.0, tmp_path / "scale.tpk")
    scaling(4.0, tmp_path / "other.tpk")
    with served(tmp_path, tmp_path, "--workers", 2, early=[signal.SIGHUP]) as running:
        first, second, waiting = until(lambda: len(found := running.workers()) == 3 and found)
        # A process that has only just been made has the files of the one that made it.
        until(lambda: [serves(worker) for worker in (first, second, waiting)] == [True, True, False])
        assert httpx.post(f"{running.url}/v2/repository/models/other/unload", timeout=60).status_code == 200
        until(lambda: {ask(running, "other").status_code for _ in range(20)} == {503})  # in both of them
        with Client(running) as client:
            until(lambda: len(client.answers) > 5)
            os.kill(first, signal.SIGKILL)
            until(lambda: serves(waiting))  # it has imported all that it needs
            until(lambda: len(client.answers) > 50)
        assert set(map(repr, client.answers)) == {repr((200, [3.0, 6.0]))}
        assert len(client.failures) <= 1, client.failures
        os.kill(second, signal.SIGKILL)
        until(lambda: second not in running.workers())
        # Only that one is left for now, or what follows it: it knows what was unloaded before it began.
        assert ask(running).json() == [3.0, 6.0]
        assert ask(running, "other").status_code == 503
        assert waiting in running.workers()
        text = httpx.get(f"{running.url}/metrics", timeout=60).text
        counted = re.search(r'tracepack_request_success_total{model="scale",version="1"} (\S+)', text)
        assert counted is not None
        assert float(counted[1]) == len(client.answers) + 1, "the counts of workers that are gone are lost"
        assert 'tracepack_requests_pending{model="scale",version="1"} 0.0' in text


@pytest.mark.campaign
def test_the_process_that_waits_to_replace_a_worker_may_end_too(tmp_path) -> None:
    scaling(3.0, tmp_path / "scale.tpk")
    with served(tmp_path, tmp_path, "--workers", 2) as running:
        first, _, waiting = until(lambda: len(found := running.workers()) == 3 and found)
        for worker in (waiting, first):
            os.kill(worker, signal.SIGKILL)
            until(lambda worker=worker: worker not in running.workers())
        until(lambda: sum(map(serves, running.workers())) == 2)
        assert ask(running).json() == [3.0, 6.0]
        last = running.workers()
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(60) == 0
        assert not any(Path(f"/proc/{worker}").exists() for worker in last)


def serves(worker: int) -> bool:
    """Whether a process has an event loop."""
    with contextlib.suppress(OSError):  # it ends
        files = Path(f"/proc/{worker}/fd")
        return any("eventpoll" in os.readlink(files / name) for name in os.listdir(files))
    return False


def looping(path: Path) -> Path:
    """A file that takes as long as it is asked to."""

    def count(x, runs):
        return tracepack.while_loop(lambda i, v: i < runs, lambda i, v: (i + 1, v + 1), 0, x)[1]

    tracepack.trace(count, torch.ones(2), 3).save(path)
    return path


def test_sigterm_answers_what_has_begun(tmp_path) -> None:
    """SIGHUP ends no server that has only just begun; it is heard before."""
    scaling(3.0, tmp_path / "scale.tpk")
    with served(tmp_path, tmp_path, "--drain", 60, early=[signal.SIGHUP, signal.SIGHUP]) as running:
        body = json.dumps(BODY).encode()
        head = f"POST /v1/scale HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: {len(body)}\r\n\r\n"
        host, port = running.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=60) as made:
            made.sendall(head.encode())
            assert made.recv(4096) == b"HTTP/1.1 100 Continue\r\n\r\n"  # its request has begun
            running.process.send_signal(signal.SIGTERM)
            until(lambda: refuses(running))
            made.sendall(body)
            answer = b"".join(iter(lambda: made.recv(4096), b""))
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert answer.endswith(b"[3.0,6.0]")
        assert running.process.wait(60) == 0


def refuses(running: Running) -> bool:
    """Whether a server takes no more connections."""
    try:
        ask(running)
    except httpx.ConnectError:
        return True
    except httpx.HTTPError:  # a connection that had waited is ended
        return False
    return False


def test_sigterm_waits_for_no_run_that_was_left(tmp_path) -> None:
    """Its request was answered that it takes too long."""
    looping(tmp_path / "slow.tpk")
    with served(tmp_path, tmp_path / "slow.tpk", "--timeout", 1) as running:
        assert httpx.post(f"{running.url}/v1/slow", json={**BODY, "runs": 1 << 40}, timeout=60).status_code == 504
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(60) == 0
        assert "a run was ended that took longer than its request could wait" in running.log.read_text(encoding="utf-8")


def test_sigterm_ends_a_server_whose_workers_have_only_just_begun(tmp_path) -> None:
    looping(tmp_path / "slow.tpk")
    command = [sys.executable, "-m", "tracepack", "serve", str(tmp_path), "--http-port", "0", "--no-grpc"]
    for moment in (0.15, 0.3):
        process = subprocess.Popen([*command, "--workers", "2"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(moment)
        process.send_signal(signal.SIGTERM)
        process.wait(20)


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
        until(lambda: "stays as it was" in running.log.read_text(encoding="utf-8"))
        os.replace(lying(tmp_path / "bad"), path)
        running.process.send_signal(signal.SIGHUP)
        until(lambda: "golden examples give other outputs" in running.log.read_text(encoding="utf-8"))
        assert ask(running).json() == [5.0, 10.0]
        index = httpx.post(f"{running.url}/v2/repository/index").json()
        assert index == [{"name": "scale", "version": "1", "state": "READY", "reason": ""}]
        client.ended.set()
        client.join()
        assert client.failures == []
        assert set(map(repr, client.answers)) == {repr((200, [3.0, 6.0])), repr((200, [5.0, 10.0]))}


def test_watch_loads_what_is_replaced_and_what_is_new(tmp_path) -> None:
    path = scaling(3.0, tmp_path / "scale.tpk")
    (tmp_path / "many").mkdir()
    for version in (2, 10):
        scaling(float(version), tmp_path / "many" / f"{version}.tpk")
    with served(tmp_path, tmp_path, "--watch") as running:
        assert httpx.get(f"{running.url}/v2/models/many").json()["versions"] == ["10", "2"]
        row = {"name": "x", "datatype": "FP32", "shape": [2], "data": [1, 2]}
        for place, factor in (("", 10), ("/versions/2", 2), ("/versions/10", 10)):
            answer = httpx.post(f"{running.url}/v2/models/many{place}/infer", json={"inputs": [row]}).json()
            assert answer["model_version"] == str(factor)
            assert answer["outputs"][0]["data"] == [factor, 2 * factor]
        assert httpx.get(f"{running.url}/v2/models/many/versions/3/ready").status_code == 404
        os.replace(scaling(5.0, tmp_path / "new"), path)
        until(lambda: ask(running).json() == [5.0, 10.0])
        os.replace(scaling(7.0, tmp_path / "new"), tmp_path / "other.tpk")
        until(lambda: ask(running, "other").status_code == 200)
        assert ask(running, "other").json() == [7.0, 14.0]


def test_a_file_that_is_gone_keeps_no_other_from_being_replaced(tmp_path) -> None:
    gone, kept = scaling(3.0, tmp_path / "gone.tpk"), scaling(3.0, tmp_path / "scale.tpk")
    folder = tmp_path / "more"
    folder.mkdir()
    scaling(4.0, folder / "more.tpk")
    with served(tmp_path, gone, kept, folder, "--watch") as running:
        gone.unlink()
        scaling(9.0, folder / "scale.tpk")  # of which nobody knows which one is meant
        os.replace(scaling(5.0, tmp_path / "new"), folder / "more.tpk")
        until(lambda: ask(running, "more").json() == [5.0, 10.0])
        (folder / "scale.tpk").unlink()
        os.replace(scaling(6.0, tmp_path / "new"), kept)
        until(lambda: ask(running).json() == [6.0, 12.0])
        assert ask(running, "gone").json() == [3.0, 6.0]
        log = running.log.read_text(encoding="utf-8")
        assert log.count(f"what was loaded from there stays as it was: {gone}: there is no such file") == 1
        assert log.count("what was loaded from there stays as it was: model 'scale': two files have one name") <= 1


def test_state_is_served_by_one_process(tmp_path) -> None:
    op = tracepack.script(Counter())
    tracepack.trace(lambda x: op(x), torch.ones(2)).save(tmp_path / "counter.tpk")
    command = [sys.executable, "-m", "tracepack", "serve", str(tmp_path), "--workers", "2"]
    done = subprocess.run(
        [*command, "--http-port", "0", "--grpc-port", "0"], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 6
    assert "model 'counter': a pipeline with state is served by one process; got 2 workers" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["none.tpk"], 3, "none.tpk: there is no such file"),
        (["empty"], 3, "empty: the folder holds no models; expected *.tpk, NAME/1.tpk"),
        (["a.tpk", "b/a.tpk"], 3, "model 'a': two files have one name; got a.tpk, b/a.tpk"),
        (["a.tpk", "--token-file", "token"], 3, "token: the file of the token is empty"),
        (["a.tpk", "--token-file", "none"], 3, "none: the token cannot be read; got [Errno 2]"),
        (["a.tpk", "--tls-cert", "a.pem"], 6, "TLS needs a certificate and its key; got one of them"),
        (["a.tpk", "--max-delay-ms", "-1"], 6, "max_delay_ms: no setting of its range; got -1.0"),
    ],
)
def test_what_cannot_be_served_is_said_at_the_start(tmp_path, monkeypatch, capsys, arguments, code, text) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "token").write_text("\n")
    for name in ("a.tpk", "b/a.tpk"):
        (tmp_path / name).touch()
    assert main(["serve", *arguments, "--workers", "2"]) == code
    assert f"tracepack: {text}" in capsys.readouterr().err
