"""Serving: what a request costs beyond `mod.run`, and what 64 clients get, with batching and without.

    python -m benchmarks.serving

The server is a process of its own; client and server share the cores of this machine. The note of a row has what the
same client takes against bare Starlette or grpc.aio that reads the body and answers with constant bytes. Every first
answer is compared with `mod.run`. `benchmarks.servers.peers` measures other servers, and `benchmarks.servers.soak` a
long time.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

import numpy as np
import torch

import tracepack
from benchmarks.interleaved import save, show

Row = dict[str, object]
ROUNDS, RUNS, CLIENTS, SECONDS = 10, 200, 64, 5.0
SHAPES = {"batch 1": (1, 384), "256 x 384": (256, 384)}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "small.tpk")
        pack(path)
        rows = [*overheads(path), *throughputs(path)]
    show(rows)
    save("serving", rows)


def pack(path: Path) -> None:
    """A small network, whose run takes some microseconds a row."""
    torch.manual_seed(0)
    layers = torch.nn.Sequential(torch.nn.Linear(384, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
    op = tracepack.script(layers.eval())
    example = torch.rand(4, 384)
    tracepack.trace(lambda x: op(x), example).save(path, examples=[{"x": example}])


@contextmanager
def server(path: Path, *arguments: str) -> Iterator[tuple[str, str]]:
    """A server on free ports: the address of HTTP and that of gRPC."""
    command = [sys.executable, "-m", "tracepack", "serve", str(path), "--http-port", "0", "--grpc-port", "0"]
    process = subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        row = json.loads(process.stdout.readline())
        yield row["serving"].removeprefix("http://"), row["grpc"]
    finally:
        process.terminate()
        process.wait()


@contextmanager
def constant_server(answer: bytes, header: str | None = None) -> Iterator[str]:
    """Starlette, or grpc.aio without a header, that reads a body and answers with constant bytes: the address."""
    program = [sys.executable, "-c", _CONSTANT_RPC if header is None else _CONSTANT]
    process = subprocess.Popen([*program, answer.hex(), header or ""], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


_CONSTANT = """
import sys, socket, uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
body = bytes.fromhex(sys.argv[1])
async def answer(request: Request):
    await request.body()
    return Response(body, headers={"Inference-Header-Content-Length": sys.argv[2]})
app = Starlette(routes=[Route("/v2/models/{model}/infer", answer, methods=["POST"])])
listening = socket.create_server(("127.0.0.1", 0))
print(f"127.0.0.1:{listening.getsockname()[1]}", flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off")).run([listening])
"""


_CONSTANT_RPC = """
import asyncio, sys, grpc, grpc.aio
answer = bytes.fromhex(sys.argv[1])
async def infer(request, context):
    return answer
async def main():
    server = grpc.aio.server()
    methods = {"ModelInfer": grpc.unary_unary_rpc_method_handler(infer)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("inference.GRPCInferenceService", methods),))
    print(f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}", flush=True)
    await server.start()
    await server.wait_for_termination()
asyncio.run(main())
"""


def overheads(path: Path) -> list[Row]:
    """What a request of one client takes over a run in this process: the least p50 of rounds that take turns."""
    import tritonclient.grpc as rpc_client
    import tritonclient.http as http_client

    mod, rows = tracepack.load(path), []
    torch.set_num_threads(1)
    for name, shape in SHAPES.items():
        data = np.random.default_rng(0).random(shape, dtype="f4")
        header, body = constant_answer(shape[0])
        with ExitStack() as stack:
            http, rpc = stack.enter_context(server(path))
            addresses = {
                "HTTP binary": (http_client, http, stack.enter_context(constant_server(body, header))),
                "gRPC": (rpc_client, rpc, stack.enter_context(constant_server(constant_message(shape[0])))),
            }
            ways: dict[str, Callable[[], object]] = {"alone": lambda data=data: mod.run({"x": data})}
            for protocol, (module, ours, bare) in addresses.items():
                client = stack.enter_context(module.InferenceServerClient(ours))
                answer = client.infer("small", inputs(module, data))
                assert np.array_equal(answer.as_numpy("out"), mod.run({"x": torch.from_numpy(data)}).numpy())
                ways[protocol] = asking(module, client, data)
                ways[f"{protocol}, bare"] = asking(
                    module, stack.enter_context(module.InferenceServerClient(bare)), data
                )
            least = least_p50(ways)
        for protocol, limit in {"HTTP binary": 0.5, "gRPC": 0.7}.items():
            times = least["alone"], least[protocol], least[f"{protocol}, bare"]
            rows.append(row(f"{protocol}, {name}", *times, limit if shape[0] == 1 else 1.0))
    return rows


def constant_answer(count: int) -> tuple[str, bytes]:
    row = {"name": "out", "datatype": "FP32", "shape": [count, 8], "parameters": {"binary_data_size": count * 32}}
    head = json.dumps({"model_name": "small", "outputs": [row]}).encode()
    return str(len(head)), head + bytes(count * 32)


def constant_message(count: int) -> bytes:
    from tracepack.serving.protocol.protobuf import message

    made = message("ModelInferResponse")(model_name="small", raw_output_contents=[bytes(count * 32)])
    made.outputs.add(name="out", datatype="FP32", shape=[count, 8])
    return made.SerializeToString()


def inputs(module, data: np.ndarray) -> list:
    return [module.InferInput("x", list(data.shape), "FP32").set_data_from_numpy(data)]


def asking(module, made, data: np.ndarray) -> Callable[[], object]:
    return lambda: made.infer("small", inputs(module, data)).as_numpy("out")


def least_p50(ways: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The median of the calls of each round, in milliseconds, and of it the least: others use this machine, too."""
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(ROUNDS):
        for name, call in ways.items():
            for _ in range(20):
                call()
            taken = []
            for _ in range(RUNS):
                begun = time.perf_counter()
                call()
                taken.append(time.perf_counter() - begun)
            best[name] = min(best[name], median(taken) * 1e3)
    return best


def row(name: str, alone: float, taken: float, bare: float, limit: float) -> Row:
    note = f"mod.run {alone:.3f}, request {taken:.3f}, the same of a server that answers constant bytes {bare:.3f}"
    return {"what": f"{name}: p50 over mod.run", "value": taken - alone, "unit": "ms", "limit": limit, "note": note}


def throughputs(path: Path) -> list[Row]:
    """Requests a second that 64 clients get, each asking for one row after the other."""
    rows = []
    for name, arguments in {
        "64 clients, gRPC": (), "64 clients, gRPC, --max-batch 64": ("--max-batch", "64"),
    }.items():  # fmt: skip
        with server(path, *arguments) as (_, rpc):
            command = [sys.executable, "-m", "benchmarks.serving", "clients", rpc]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            rows.append({"what": name, "value": 1e6 / float(done.stdout), "unit": "us/req", "limit": None})
    return rows


async def clients(address: str) -> float:
    """Requests a second that all clients get together."""
    import tritonclient.grpc as rpc_client
    from tritonclient.grpc import aio

    given = inputs(rpc_client, np.random.default_rng(0).random((1, 384), dtype="f4"))
    async with aio.InferenceServerClient(address) as made:
        end = time.perf_counter() + SECONDS

        async def ask() -> int:
            count = 0
            while time.perf_counter() < end:
                await made.infer("small", given)
                count += 1
            return count

        return sum(await asyncio.gather(*(ask() for _ in range(CLIENTS)))) / SECONDS


if __name__ == "__main__":
    if sys.argv[1:2] == ["clients"]:
        print(asyncio.run(clients(sys.argv[2])))
    else:
        main()
