"""Serving for a long time: load below what the server can take, bad requests, killed workers and new files meanwhile.

    python -m benchmarks.servers.soak --minutes 30 --load 0.8

First it is measured what the clients get at most; then they ask at a share of it. Every answer is compared with one
that numpy gives. A request is lost where its connection fails although its worker was not killed just then; how much
memory the workers hold, and how many files, is read each minute. It ends with code 1 where an answer was wrong, more
were lost than were in flight, or memory grew.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import httpx
import numpy as np
import torch

import tracepack
from tests.serving.commands import Running, served, until
from tracepack.serving.models.row_check import why_not_by_rows

CLIENTS, WORKERS = 8, 2
GROWTH = 1.15  # of the memory after the first fifth, within which it counts as flat


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.servers.soak")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--load", type=float, default=0.8, help="share of what the clients get at most")
    parser.add_argument("--kill-every", type=float, default=60.0, help="seconds between two killed workers")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "small.tpk")
        weights = pack(path)
        limits = ("--workers", WORKERS, "--max-batch", 32, "--max-delay-ms", 1, "--max-body", 1 << 20, "--timeout", 20)
        with served(Path(folder), path, *limits) as running:
            clients = [Client(running, weights, number) for number in range(CLIENTS)]
            most = rate(clients, 10.0)
            print(f"{CLIENTS} clients get at most {most:.0f} requests/s")
            for client in clients:
                client.pause = CLIENTS / (options.load * most)
            try:
                found = trouble(running, clients, path, options.minutes * 60, options.kill_every)
            finally:
                end(clients)
            return report(*found)


class Model(torch.nn.Module):
    """A layer, and whole numbers beside its rows; both in one module, so that they share their first size."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(16, 4)

    def forward(self, x: torch.Tensor, k: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.layer(x), k * 2 + torch.zeros_like(x[:, 0]).long()


def pack(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """A small network that may be run in batches; its weights."""
    torch.manual_seed(0)
    model = Model().eval()
    op, example = tracepack.script(model), {"x": torch.rand(4, 16), "k": torch.arange(4)}
    mod = tracepack.trace(lambda x, k: dict(zip(("y", "k"), op(x, k), strict=True)), **example)
    assert not why_not_by_rows(mod, [example]), "the soak is to run requests together"
    mod.save(path, examples=[example])
    return model.layer.weight.detach().double().numpy(), model.layer.bias.detach().double().numpy()


class Client(threading.Thread):
    """Asks by one connection, a bad request now and then, and checks every answer."""

    def __init__(self, running: Running, weights: tuple[np.ndarray, np.ndarray], number: int) -> None:
        super().__init__(daemon=True)
        self._url, self._weights, self._random = running.url, weights, np.random.default_rng(number)
        self.pause, self.counts, self.ended = 0.0, Counter[str](), threading.Event()
        self.failed: list[float] = []  # when connections failed

    def run(self) -> None:
        import tritonclient.http as triton

        made = triton.InferenceServerClient(self._url.removeprefix("http://"))
        due = time.monotonic()
        while not self.ended.is_set():
            due = max(due + self.pause * self._random.exponential(), time.monotonic() - 1.0)
            self.ended.wait(max(0.0, due - time.monotonic()))
            try:
                kind = self._bad() if self._random.random() < 0.02 else self._good(triton, made)
            except (OSError, httpx.HTTPError) as error:
                kind = f"no connection: {type(error).__name__}"
                self.failed.append(time.monotonic())
            except triton.InferenceServerException as error:
                kind = f"refused: {error}"[:80]
            except Exception as error:  # geventhttpclient has errors of its own for a connection that ends
                kind = f"no connection: {type(error).__name__}"
                self.failed.append(time.monotonic())
            self.counts[kind] += 1

    def _good(self, triton, made) -> str:
        rows = int(self._random.choice([1, 1, 1, 2, 5, 17, 40]))
        x = self._random.standard_normal((rows, 16)).astype("f4")
        k = self._random.integers(-(1 << 40), 1 << 40, rows)
        given = [triton.InferInput("x", [rows, 16], "FP32").set_data_from_numpy(x)]
        given.append(triton.InferInput("k", [rows], "INT64").set_data_from_numpy(k))
        answer = made.infer("small", given)
        right = np.array_equal(answer.as_numpy("k"), k * 2) and np.allclose(
            answer.as_numpy("y"), x.astype("f8") @ self._weights[0].T + self._weights[1], rtol=1e-4, atol=1e-4
        )
        return "answered" if right else "WRONG"

    def _bad(self) -> str:
        row = {"name": "x", "datatype": "FP32", "shape": [1, 16], "data": [0.0] * 16}
        body, status = random.choice([
            ({"inputs": [row]}, 400), ({"inputs": [{**row, "shape": [1, 17]}]}, 400), ([], 400),
            ({"inputs": [{**row, "data": "x" * (2 << 20)}]}, 413),
        ])  # fmt: skip
        answer = httpx.post(f"{self._url}/v2/models/small/infer", json=body, timeout=30)
        return "bad request refused" if answer.status_code == status and "error" in answer.json() else "WRONG"


def rate(clients: list[Client], seconds: float) -> float:
    """Requests a second of clients without a pause."""
    for client in clients:
        client.start()
    time.sleep(1.0)
    before, begun = total(clients), time.monotonic()
    time.sleep(seconds)
    return (total(clients) - before) / (time.monotonic() - begun)


def end(clients: list[Client]) -> None:
    for client in clients:
        client.ended.set()
    for client in clients:
        client.join(30)


def total(clients: list[Client]) -> int:
    return sum(sum(client.counts.values()) for client in clients)


def trouble(
    running: Running, clients: list[Client], path: Path, seconds: float, every: float
) -> tuple[list[Client], list[float], list[tuple[float, float, int]], list[float]]:
    """Kills workers and replaces files until the time is over.

    Returns:
        The clients, when workers were killed, (time, MiB, files) now and then, and how long workers were missing.
    """
    begun, kills, seen, gone = time.monotonic(), [], [], []
    reloads = [seconds / 3, 2 * seconds / 3]
    kill, look = every, 0.0
    while (now := time.monotonic() - begun) < seconds:
        if now >= kill:
            kills.append(time.monotonic())
            gone.append(killed(running))
            kill += every
        if reloads and now >= reloads[0]:
            reloads.pop(0)
            shutil.copy(path, path.with_suffix(".new"))
            os.replace(path.with_suffix(".new"), path)
            running.process.send_signal(signal.SIGHUP)
        if now >= look:
            seen.append((now, *held(running)))
            print(f"{now:6.0f} s: {seen[-1][1]:.0f} MiB, {seen[-1][2]} files, {total(clients)} requests", flush=True)
            look += 60 if seconds > 300 else seconds / 10
        time.sleep(0.2)
    return clients, kills, seen, gone


def killed(running: Running) -> float:
    """Kills a worker, and returns the seconds until as many as before are ready."""
    chosen, begun = random.choice(ready(running)), time.monotonic()
    os.kill(chosen, signal.SIGKILL)
    until(lambda: len(set(ready(running)) - {chosen}) == WORKERS)
    return time.monotonic() - begun


def ready(running: Running) -> list[int]:
    """The workers that listen for gRPC, which they do last; the process that waits to replace one does not."""
    port = f":{int(str(running.rpc).rpartition(':')[2]):04X}"
    lines = [
        line
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{table}").read_text(encoding="utf-8").splitlines()[1:]
    ]
    listening = {f"socket:[{line.split()[9]}]" for line in lines if f"{port} " in line}
    return [pid for pid in running.workers() if links(pid) & listening]


def links(pid: int) -> set[str]:
    """What the open files of a process are."""
    found = set()
    try:
        for each in os.scandir(f"/proc/{pid}/fd"):
            found.add(os.readlink(each.path))
    except OSError:
        pass
    return found


def held(running: Running) -> tuple[float, int]:
    """MiB that a worker holds beside its mapped files, and files that are open, of all workers in the mean."""
    sizes, files = [], []
    for pid in ready(running):
        try:
            status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        except OSError:
            continue
        sizes.append(int(status.partition("RssAnon:")[2].split()[0]) / 1024)
        files.append(len(links(pid)))
    return sum(sizes) / max(len(sizes), 1), sum(files) // max(len(files), 1)


def report(clients: list[Client], kills: list[float], seen: list[tuple[float, float, int]], gone: list[float]) -> int:
    counts = sum((client.counts for client in clients), Counter[str]())
    failed = [moment for client in clients for moment in client.failed]
    lost = [moment for moment in failed if not any(0 <= moment - kill < 2.0 for kill in kills)]
    settled = [size for now, size, _ in seen if now >= seen[-1][0] / 5]
    flat = max(settled) <= GROWTH * settled[0]
    for kind, count in sorted(counts.items()):
        print(f"{count:9d}  {kind}")
    print(f"{len(kills)} workers killed, {len(failed) - len(lost)} requests lost in flight, {len(lost)} besides")
    if gone:
        print(f"a worker is back after {min(gone):.1f} to {max(gone):.1f} s, {sum(gone) / len(gone):.1f} s in the mean")
    print(f"memory of a worker {settled[0]:.0f} to {max(settled):.0f} MiB: {'flat' if flat else 'GROWS'}")
    good = not counts["WRONG"] and not lost and flat and len(failed) <= CLIENTS * max(len(kills), 1)
    return 0 if good and all(kind.startswith(("answered", "bad", "no conn")) for kind in counts) else 1


if __name__ == "__main__":
    sys.exit(main())
