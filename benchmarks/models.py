"""Real models after `optimize`, against every runtime that is installed, fed directly: interleaved, in one process.

python -m benchmarks.models [--rows resnet18,mlp] [--threads 1] [--seconds 120] [--compile] [--engines onnxruntime]

Weights are random, since they do not change the time. Ratios are to the best peer of a row: eager, ONNX Runtime and
OpenVINO on an export that torch makes of the model itself, `torch.jit` with `optimize_for_inference`, and with
``--compile`` inductor with freezing and AOTInductor, which take minutes to compile. All are given the same dict of
torch tensors, or of texts; the two runtimes read tensors as arrays, and give arrays, which nobody turns back. Of their
three sessions the best counts, of ours there is one. First answers and memory are compared with the best peer that has
a file. Rows that are not asked for keep their last results. A row takes the seconds of the search and a minute.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import statistics
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import truediv
from typing import Any

import torch

import tracepack
from benchmarks import architectures
from benchmarks.interleaved import last, save, timed, turns

LIMIT = 1.02  # of the best peer
SESSIONS = 3  # of a peer: the same one differs by up to 10 % by where in memory its weights happen to lie
SPREAD = ("onnxruntime", "openvino")  # which have sessions
ROUNDS, MOST_SECONDS = 200, 20.0  # of the measurement of a row
REST = 0.02  # seconds before a turn with several threads: those of a runtime spin on after a run


@dataclass(frozen=True)
class Model:
    """A row: a module, its inputs by name, and inputs of another size; with a tokenizer, the inputs are texts.

    Ours is traced, and the peers' model is exported, with the other size, which has no batch of 1: that would be fixed.
    """

    name: str
    module: torch.nn.Module
    inputs: dict[str, Any]
    other: dict[str, Any]
    tokenizer: str = ""

    def pipeline(self) -> tracepack.Pipeline:
        """The row as a user of tracepack writes it."""
        op = tracepack.script(self.module, name="model", contiguous=True)
        if self.tokenizer:
            tokenize = tracepack.tokenizer(self.tokenizer)

            def process(texts: list[str]) -> torch.Tensor:
                batch = tokenize(texts)
                return op(batch["input_ids"], batch["attention_mask"])

            return tracepack.trace(process, self.other["texts"])
        names = ", ".join(self.inputs)
        return tracepack.trace(eval(f"lambda {names}: op({names})", {"op": op}), *self.other.values())

    def tensors(self, inputs: dict[str, Any]) -> dict[str, torch.Tensor]:
        """What a peer is fed: the inputs, tokenized where they are texts."""
        if not self.tokenizer:
            return inputs
        found = architectures.tokenizer(self.tokenizer).encode_batch(inputs["texts"])
        ids, mask = [each.ids for each in found], [each.attention_mask for each in found]
        return {"ids": torch.tensor(ids), "mask": torch.tensor(mask)}


def models() -> dict[str, Callable[[], Model]]:
    """The rows, each made when it is asked for."""

    def row(name: str, module: Callable[[], torch.nn.Module], make: Callable[..., Any], *sizes: Any) -> None:
        def made() -> Model:
            torch.manual_seed(0)
            return Model(name, module().eval(), make(*sizes[0]), make(*sizes[1]))

        found[name] = made

    found: dict[str, Callable[[], Model]] = {}
    row("resnet18 1x224", architectures.ResNet18, architectures.images, (1, 224), (2, 192))
    row("bert 6x384 8x64", architectures.bert, architectures.tokens, (8, 64), (4, 48))
    row("bert 6x384 1x16", architectures.bert, architectures.tokens, (1, 16), (2, 20))
    row("vit-tiny 2x224", architectures.vit, architectures.images, (2, 224), (3, 224))
    row("mlp 10x256", architectures.Mlp, architectures.vectors, (1, 256), (3, 256))
    row("lstm 2x128 4x50", architectures.Lstm, architectures.sequences, (4, 50, 128), (2, 30, 128))
    row("whisper encoder", architectures.whisper, architectures.spectra, (1, 80, 3000), (2, 80, 3000))
    found["minilm search"] = lambda: Model("minilm search", *architectures.minilm())
    row("gpt2 step", architectures.Decoder, architectures.step, (1, 64), (2, 80))
    return found


# -- the ways ----------------------------------------------------------------------------------------------------------


def peers(model: Model, data: bytes, threads: int, compiled: bool) -> dict[str, Callable[[dict[str, Any]], Any]]:
    """Each runtime as a function of the inputs, from the model or its export; one that cannot take it is left out."""
    makers = {
        "eager": lambda: eager(model),
        "jit": lambda: jit(model),
        "onnxruntime": lambda: onnxruntime_direct(data, threads),
        "openvino": lambda: openvino_direct(data, threads),
    }
    if compiled:
        makers |= {"inductor": lambda: inductor(model), "aoti": lambda: aoti(model)}
    found: dict[str, Callable[[dict[str, Any]], Any]] = {}
    for name, make in makers.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                way = make()
                way(model.tensors(model.inputs))
        except Exception as error:
            print(f"  {name}: left out: {type(error).__name__}: {str(error).partition(chr(10))[0][:100]}")
            continue
        found[name] = way if not model.tokenizer else lambda inputs, way=way: way(model.tensors(inputs))
    return found


def exported(model: Model) -> bytes:
    """The model in ONNX, as torch alone exports it, all sizes free that may be."""
    auto = torch.export.Dim.AUTO
    given = model.tensors(model.other)
    free = tuple(dict.fromkeys(range(value.dim()), auto) for value in given.values())
    example = tuple(given.values())
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        with torch.no_grad():
            program = torch.export.export(model.module, example, dynamic_shapes=free, strict=False)
        made = torch.onnx.export(program, dynamo=True, input_names=list(given), verbose=False)
    assert made is not None
    return made.model_proto.SerializeToString()


def eager(model: Model) -> Callable[[dict[str, torch.Tensor]], Any]:
    def run(inputs: dict[str, torch.Tensor]) -> Any:
        with torch.inference_mode():
            return model.module(*inputs.values())

    return run


def jit(model: Model) -> Callable[[dict[str, torch.Tensor]], Any]:
    with torch.no_grad():
        given = model.tensors(model.inputs)
        traced = torch.jit.trace(model.module, tuple(given.values()), check_trace=False)
        ready = torch.jit.optimize_for_inference(torch.jit.freeze(traced))

    def run(inputs: dict[str, torch.Tensor]) -> Any:
        with torch.inference_mode():
            return ready(*inputs.values())

    for _ in range(3):  # its executor specialises in the first runs
        run(given)
    return run


def onnxruntime_direct(data: bytes | str, threads: int) -> Callable[[dict[str, torch.Tensor]], Any]:
    session = onnxruntime_session(data, threads)
    return lambda inputs: session.run(None, {name: value.numpy() for name, value in inputs.items()})


def onnxruntime_session(data: bytes | str, threads: int) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def openvino_direct(data: bytes | str, threads: int) -> Callable[[dict[str, torch.Tensor]], Any]:
    import openvino

    core = openvino.Core()
    settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    compiled = core.compile_model(core.read_model(data), "CPU", settings)
    request = compiled.create_infer_request()

    def run(inputs: dict[str, torch.Tensor]) -> Any:
        given = {name: value.numpy() for name, value in inputs.items()}
        return list(request.infer(given, share_inputs=True, share_outputs=False).values())

    return run


def inductor(model: Model) -> Callable[[dict[str, torch.Tensor]], Any]:
    torch._inductor.config.freezing = True
    compiled = torch.compile(model.module)

    def run(inputs: dict[str, torch.Tensor]) -> Any:
        with torch.no_grad():
            return compiled(*inputs.values())

    return run


def aoti(model: Model) -> Callable[[dict[str, torch.Tensor]], Any]:
    with torch.no_grad():
        program = torch.export.export(model.module, tuple(model.tensors(model.inputs).values()), strict=False)
    path = torch._inductor.aoti_compile_and_package(program)
    loaded = torch._inductor.aoti_load_package(path)

    def run(inputs: dict[str, torch.Tensor]) -> Any:
        with torch.inference_mode():
            return loaded(*inputs.values())

    return run


# -- measuring ---------------------------------------------------------------------------------------------------------


def measure(model: Model, threads: int, seconds: float, compiled: bool, engines: list[str] | None) -> dict[str, object]:
    """One row."""
    pipeline = model.pipeline()
    findings = pipeline.optimize([model.inputs], seconds=seconds, engines=engines)
    print(findings, flush=True)
    data = exported(model)
    sessions = [peers(model, data, threads, compiled and not number) for number in range(SESSIONS)]
    ways = {("ours", 0): lambda: pipeline.run(model.inputs)}
    for number, session in enumerate(sessions):
        for name, way in session.items():
            if name in SPREAD or not number:
                ways[name, number] = lambda way=way: way(model.inputs)
    rounds = turns(ways, rounds=ROUNDS, seconds=MOST_SECONDS, rest=0.0 if threads == 1 else REST)
    ours = rounds.pop(("ours", 0))
    place = min(rounds, key=lambda each: min(rounds[each]))
    times: dict[str, float] = {}
    for (name, _), found in rounds.items():
        times[name] = min(*found, times.get(name, float("inf")))
    best = place[0]
    engine = ", ".join(dict.fromkeys(findings.engines.values())) or "aten"
    row: dict[str, object] = {
        "what": model.name, "value": round(min(ours) / times[best], 3), "limit": LIMIT, "unit": "ratio",
        "median": round(statistics.median(map(truediv, ours, rounds[place])), 3), "rounds": len(ours), "best": best,
        "engine": engine, "eager": round(min(ours) / times["eager"], 3), "threads": threads,
        "peers": {name: round(each / times["eager"], 3) for name, each in times.items()},
        "difference": findings.difference,
    }  # fmt: skip
    fresh_size = min(timed(lambda way=session[best]: way(model.other)) for session in sessions if best in session)
    files = {name: times[name] for name in ("onnxruntime", "openvino") if name in times}
    return row | from_files(pipeline, model, data, threads, min(files, key=files.__getitem__), fresh_size)


def from_files(
    pipeline: tracepack.Pipeline, model: Model, data: bytes, threads: int, peer: str, fresh_size: float
) -> dict[str, object]:
    """Ratios of the seconds from a file to the first answer, of the memory that stays, and of a new size, to a peer.

    Of calls at a new size the least of three counts, each of another session: `fresh_size` is the peer's.
    """
    with tempfile.TemporaryDirectory() as folder:
        mine, other = os.path.join(folder, "a.tpk"), os.path.join(folder, "a.onnx")
        pipeline.save(mine)
        with open(other, "wb") as file:
            file.write(data)
        torch.save((model.inputs, model.tensors(model.inputs)), os.path.join(folder, "inputs"))
        engines = {peer, *(choice.artefact.engine for choice in pipeline.program.engines)}
        files = (("tracepack", mine), (peer, other))
        rounds = [[fresh(way, path, threads, engines) for way, path in files] for _ in range(5)]
        new_size = min(first_at_new_size(tracepack.load(mine, trust=True), model) for _ in range(SESSIONS))
    (start, size), (peer_start, peer_size) = (map(min, zip(*runs, strict=True)) for runs in zip(*rounds, strict=True))
    return {
        "new size": round(new_size / fresh_size, 3), "file peer": peer,
        "first answer": round(start / peer_start, 3), "memory": round(size / peer_size, 3),
        "milliseconds": [round(start * 1e3, 1), round(peer_start * 1e3, 1)],
        "megabytes": [round(size / 1e6, 1), round(peer_size / 1e6, 1)],
    }  # fmt: skip


def first_at_new_size(pipeline: tracepack.Pipeline, model: Model) -> float:
    """Seconds of the first call at another size, of a pipeline that has run at its own."""
    for _ in range(20):
        pipeline.run(model.inputs)
    return timed(lambda: pipeline.run(model.other))


FRESH = """
import importlib, os, sys, time, torch, tracepack, tracepack.pipeline.load, tracepack.pipeline.optimizing.engaging
import tracepack.serialization.engine_rows
from benchmarks import models
way, path, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
for engine in sys.argv[4:]:
    importlib.import_module(f"tracepack.ops.engines.{engine}")
torch.set_num_threads(threads)
feed, tensors = torch.load(os.path.join(os.path.dirname(path), "inputs"), weights_only=True)
def memory():
    return int(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmRSS"))) * 1024
before, start = memory(), time.perf_counter()
if way == "tracepack":
    kept = tracepack.load(path, trust=True)
    kept.run(feed)
else:
    kept = models.PEERS[way](path, threads)
    kept(tensors)
print(time.perf_counter() - start, memory() - before)
"""


def fresh(way: str, path: str, threads: int, engines: Iterable[str]) -> tuple[float, float]:
    """Seconds to the first answer, and bytes that stay in memory after it, in a process with the runtimes of the row.

    With no others: OpenVINO's import forks the process, and each page of memory that is written to after that costs.
    """
    given = [sys.executable, "-c", FRESH, way, path, str(threads), *engines]
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    ended = subprocess.run(given, capture_output=True, text=True, check=True, env=environment)
    seconds, size = ended.stdout.split()[-2:]
    return float(seconds), float(size)


PEERS = {"onnxruntime": onnxruntime_direct, "openvino": openvino_direct}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", default="")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--engines", default="")
    options = parser.parse_args(arguments or [])
    torch.set_num_threads(options.threads)
    engines = options.engines.split(",") if options.engines else None
    file = f"models-{options.threads}"
    rows = {str(row["what"]): row for row in last(file)}
    for name, make in models().items():
        if options.rows and not any(name.startswith(wanted) for wanted in options.rows.split(",")):
            continue
        print(name, flush=True)
        rows[name] = measure(make(), options.threads, options.seconds, options.compile, engines)
        print(f"  {rows[name]}", flush=True)
        save(file, [rows[each] for each in models() if each in rows])


if __name__ == "__main__":
    main(sys.argv[1:])
