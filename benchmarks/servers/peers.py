"""Serving beside its peers: what one client waits and what 64 clients get, the same network and the same JSON.

    python -m benchmarks.servers.peers --peer mlserver=/venvs/mlserver/bin/python --peer litserve=… --peer kserve=…

Each peer is a process of its own, by the Python of an environment of its own that has it and torch: its packages would
contradict those of another. Servers are measured in turns, and every first answer is compared with a run. Batching is
on where a server has it. MLServer, kserve's SDK and tracepack take the Open Inference Protocol; LitServe has its own.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

import tracepack
from benchmarks.interleaved import save, show
from benchmarks.serving import pack

CLIENTS, SECONDS, ROUNDS, CALLS = 64, 3.0, 3, 300
DATA = np.random.default_rng(0).random((1, 384), dtype="f4")
ROW = {"name": "x", "datatype": "FP32", "shape": [1, 384], "data": DATA.reshape(-1).tolist()}
INFER = {"id": "1", "inputs": [ROW]}  # kserve's SDK answers no request without an id


@dataclass
class Asked:
    """A server, and what it is asked."""

    port: int
    path: str = "/v2/models/small/infer"
    document: Any = None
    process: Any = None

    def __post_init__(self) -> None:
        body = json.dumps(self.document or INFER).encode()
        head = f"POST {self.path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        self.request = f"{head}\r\n\r\n".encode() + body

    async def ask(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        """The body of an answer."""
        writer.write(self.request)
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        assert " 200 " in head.splitlines()[0], head
        return await reader.readexactly(int(head.partition("content-length:")[2].split()[0]))

    def numbers(self, body: bytes) -> list[float]:
        found = json.loads(body)
        return list(found["outputs"][0]["data"] if "outputs" in found else found["out"])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.servers.peers")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PYTHON", help=", ".join(PEERS))
    peers = dict(each.split("=", 1) for each in parser.parse_args().peer)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        path = Path(folder, "small.tpk")
        pack(path)
        servers = {"tracepack": stack.enter_context(ours(path)), "tracepack, batching": stack.enter_context(
            ours(path, "--max-batch", "64"))}  # fmt: skip
        for name, python in peers.items():
            servers[name] = stack.enter_context(peer(name, python, path, Path(folder)))
        wanted = tracepack.load(path).run({"x": torch.from_numpy(DATA)}).reshape(-1).tolist()
        rows = asyncio.run(measured(servers, wanted))
    show(rows)
    save("serving-peers", rows)


async def measured(servers: dict[str, Asked], wanted: list[float]) -> list[dict[str, object]]:
    waits: dict[str, list[float]] = {name: [] for name in servers}
    rates: dict[str, list[float]] = {name: [] for name in servers}
    for _ in range(ROUNDS):
        for name, server in servers.items():
            waits[name] += await waited(server, wanted)
        for name, server in servers.items():
            rates[name].append(await rate(server))
    rows: list[dict[str, object]] = []
    for name in servers:
        note = f"{max(rates[name]):.0f} requests/s of {CLIENTS} clients"
        rows.append({"what": f"{name}: p50 of one client", "value": median(waits[name]) * 1e3, "unit": "ms",
                     "limit": None, "note": note})  # fmt: skip
    return rows


async def waited(server: Asked, wanted: list[float]) -> list[float]:
    """Seconds of the requests of one client."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    assert np.allclose(server.numbers(await server.ask(reader, writer)), wanted, rtol=1e-4, atol=1e-5)
    found = []
    for _ in range(CALLS):
        begun = time.perf_counter()
        await server.ask(reader, writer)
        found.append(time.perf_counter() - begun)
    writer.close()
    return found[CALLS // 10 :]


async def rate(server: Asked) -> float:
    """Requests a second of all clients."""
    end = time.perf_counter() + SECONDS

    async def client() -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        count = 0
        while time.perf_counter() < end:
            await server.ask(reader, writer)
            count += 1
        writer.close()
        return count

    return sum(await asyncio.gather(*(client() for _ in range(CLIENTS)))) / SECONDS


@contextlib.contextmanager
def ours(path: Path, *options: str) -> Iterator[Asked]:
    command = [sys.executable, "-m", "tracepack", "serve", str(path), "--http-port", "0", "--no-grpc", *options]
    with running(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield Asked(int(json.loads(process.stdout.readline())["serving"].rpartition(":")[2]))


@contextlib.contextmanager
def peer(name: str, python: str, path: Path, folder: Path) -> Iterator[Asked]:
    """A peer that serves the same file by `tracepack.load`, once it answers."""
    port, rpc = free_port(), free_port()
    place = folder / name
    place.mkdir()
    (place / "peer.py").write_text(f"PATH, PORT, RPC = {str(path)!r}, {port}, {rpc}\n{COMMON}{PEERS[name]}")
    (place / "settings.json").write_text(json.dumps({
        "http_port": port, "grpc_port": rpc, "metrics_port": free_port(), "parallel_workers": 0, "debug": False,
    }))  # fmt: skip
    (place / "model-settings.json").write_text(json.dumps({
        "name": "small", "implementation": "peer.Small", "max_batch_size": 64, "max_batch_time": 0.001,
    }))  # fmt: skip
    start = "import sys; from mlserver.cli import main; sys.argv = ['mlserver', 'start', '.']; main()"
    module = ["-c", start] if name == "mlserver" else ["peer.py"]
    home = {**os.environ, "PYTHONPATH": os.pathsep.join([str(place), os.environ.get("PYTHONPATH", "")])}
    quiet = subprocess.DEVNULL
    with running([python, *module], cwd=place, env=home, stdout=quiet, stderr=quiet) as process:
        asked = Asked(port, "/predict", {"x": DATA[0].tolist()}) if name == "litserve" else Asked(port)
        end = time.monotonic() + 90
        while not answers(asked):
            assert process.poll() is None, f"{name} ended; run {python} {' '.join(module)} in {place}"
            assert time.monotonic() < end, f"{name} does not answer"
            time.sleep(0.3)
        yield asked


def answers(asked: Asked) -> bool:
    async def ask() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", asked.port)
        await asyncio.wait_for(asked.ask(reader, writer), 5)
        writer.close()

    try:
        asyncio.run(ask())
    except (OSError, AssertionError, EOFError, TimeoutError):
        return False
    return True


@contextlib.contextmanager
def running(command: list[str], **options: Any) -> Iterator[subprocess.Popen]:
    """A process with all that it starts, until the end of the context."""
    process = subprocess.Popen(command, start_new_session=True, **options)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 15)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as made:
        return int(made.getsockname()[1])


COMMON = """
import numpy as np, torch, tracepack
torch.set_num_threads(1)
"""
PEERS = {
    "mlserver": """
from mlserver import MLModel
from mlserver.types import InferenceResponse
from mlserver.codecs import NumpyCodec
class Small(MLModel):
    async def load(self):
        self.mod = tracepack.load(PATH)
        return True
    async def predict(self, payload):
        x = torch.from_numpy(NumpyCodec.decode_input(payload.inputs[0]))
        y = self.mod.run({"x": x}).numpy()
        return InferenceResponse(model_name="small", outputs=[NumpyCodec.encode_output("out", y)])
""",
    "kserve": """
from kserve import InferOutput, InferResponse, Model, ModelServer
class Small(Model):
    def load(self):
        self.mod, self.ready = tracepack.load(PATH), True
    async def predict(self, payload, headers=None, response_headers=None):
        y = self.mod.run({"x": torch.from_numpy(payload.inputs[0].as_numpy())}).numpy()
        out = InferOutput("out", list(y.shape), "FP32")
        out.set_data_from_numpy(y, binary_data=False)
        return InferResponse(payload.id, "small", [out])
if __name__ == "__main__":
    small = Small("small")
    small.load()
    ModelServer(http_port=PORT, grpc_port=RPC, workers=1).start([small])
""",
    "litserve": """
import litserve
class Small(litserve.LitAPI):
    def setup(self, device):
        torch.set_num_threads(1)
        self.mod = tracepack.load(PATH)
    def decode_request(self, request):
        return np.asarray(request["x"], "f4")
    def batch(self, inputs):
        return np.stack(inputs)
    def predict(self, x):
        return self.mod.run({"x": torch.from_numpy(x)}).numpy()
    def unbatch(self, output):
        return list(output)
    def encode_response(self, output):
        return {"out": output.reshape(-1).tolist()}
if __name__ == "__main__":
    api = Small(max_batch_size=64, batch_timeout=0.001)
    litserve.LitServer(api, accelerator="cpu").run(host="127.0.0.1", port=PORT, generate_client_file=False)
""",
}


if __name__ == "__main__":
    main()
