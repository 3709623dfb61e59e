"""Real models after `optimize`, against every runtime that is installed, fed directly: interleaved, in one process.

python -m benchmarks.models [--rows resnet18,mlp] [--threads 1] [--seconds 120] [--compile]

Weights are random, since they do not change the time. Ratios are to the best peer of a row: eager, ONNX Runtime and
OpenVINO on an export that torch makes of the model itself, `torch.jit` with `optimize_for_inference`, and with
``--compile`` inductor with freezing and AOTInductor, which take minutes to compile.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

import tracepack
from benchmarks import architectures
from benchmarks.interleaved import save

LIMIT = 1.02  # of the best peer
ROUNDS, MOST_SECONDS = 200, 20.0  # of the measurement of a row


@dataclass(frozen=True)
class Model:
    """A row: a module, its inputs by name, and inputs of another size."""

    name: str
    module: torch.nn.Module
    inputs: dict[str, torch.Tensor]
    other: dict[str, torch.Tensor]


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
    row("bert 6x384 1x16", architectures.bert, architectures.tokens, (1, 16), (1, 20))
    row("vit-tiny 2x224", architectures.vit, architectures.images, (2, 224), (1, 224))
    row("mlp 10x256", architectures.Mlp, architectures.vectors, (1, 256), (3, 256))
    row("lstm 2x128 4x50", architectures.Lstm, architectures.sequences, (4, 50, 128), (2, 30, 128))
    row("whisper encoder", architectures.whisper, architectures.spectra, (1, 80, 3000), (2, 80, 3000))
    row("gpt2 step", architectures.Decoder, architectures.step, (1, 64), (1, 80))
    return found


# -- the ways ----------------------------------------------------------------------------------------------------------


def peers(model: Model, threads: int, compiled: bool) -> dict[str, Callable[[dict[str, torch.Tensor]], Any]]:
    """Each runtime as a function of the inputs; one that cannot take the model is left out."""
    data = exported(model)
    makers = {
        "eager": lambda: eager(model),
        "jit": lambda: jit(model),
        "onnxruntime": lambda: onnxruntime_direct(data, threads),
        "openvino": lambda: openvino_direct(data, threads),
    }
    if compiled:
        makers |= {"inductor": lambda: inductor(model), "aoti": lambda: aoti(model)}
    found = {}
    for name, make in makers.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                way = make()
                way(model.inputs)
        except Exception as error:
            print(
                f"  {name}: left out: {type(error).__name__}: {str(error).splitlines()[0][:100] if str(error) else ''}"
            )
            continue
        found[name] = way
    return found


def exported(model: Model) -> bytes:
    """The model in ONNX, as torch alone exports it, all sizes free that may be."""
    auto = torch.export.Dim.AUTO
    free = tuple(dict.fromkeys(range(value.dim()), auto) for value in model.other.values())
    example = tuple(model.other.values())
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        with torch.no_grad():
            program = torch.export.export(model.module, example, dynamic_shapes=free, strict=False)
        made = torch.onnx.export(program, dynamo=True, input_names=list(model.inputs), verbose=False)
    assert made is not None
    return made.model_proto.SerializeToString()


def eager(model: Model) -> Callable[[dict[str, torch.Tensor]], Any]:
    def run(inputs: dict[str, torch.Tensor]) -> Any:
        with torch.inference_mode():
            return model.module(*inputs.values())

    return run


def jit(model: Model) -> Callable[[dict[str, torch.Tensor]], Any]:
    with torch.no_grad():
        traced = torch.jit.trace(model.module, tuple(model.inputs.values()), check_trace=False)
        ready = torch.jit.optimize_for_inference(torch.jit.freeze(traced))

    def run(inputs: dict[str, torch.Tensor]) -> Any:
        with torch.inference_mode():
            return ready(*inputs.values())

    for _ in range(3):  # its executor specialises in the first runs
        run(model.inputs)
    return run


def onnxruntime_direct(data: bytes, threads: int) -> Callable[[dict[str, torch.Tensor]], Any]:
    session = onnxruntime_session(data, threads)
    return lambda inputs: session.run(None, {name: value.numpy() for name, value in inputs.items()})


def onnxruntime_session(data: bytes, threads: int) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def openvino_direct(data: bytes, threads: int) -> Callable[[dict[str, torch.Tensor]], Any]:
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
        program = torch.export.export(model.module, tuple(model.inputs.values()), strict=False)
    path = torch._inductor.aoti_compile_and_package(program)
    loaded = torch._inductor.aoti_load_package(path)

    def run(inputs: dict[str, torch.Tensor]) -> Any:
        with torch.inference_mode():
            return loaded(*inputs.values())

    return run


# -- measuring ---------------------------------------------------------------------------------------------------------


def measured(ways: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """The least seconds of each way; they take turns."""
    best = dict.fromkeys(ways, float("inf"))
    until = time.perf_counter() + MOST_SECONDS
    for way in ways.values():
        way()
    for number in range(ROUNDS):
        if number > 4 and time.perf_counter() > until:
            break
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def measure(model: Model, threads: int, seconds: float, compiled: bool) -> dict[str, object]:
    """One row."""
    names = ", ".join(model.inputs)
    op = tracepack.script(model.module, name="model", contiguous=True)
    process = eval(f"lambda {names}: op({names})", {"op": op})
    pipeline = tracepack.trace(process, *model.other.values())
    findings = pipeline.optimize([model.inputs], seconds=seconds)
    others = peers(model, threads, compiled)
    ways = {"ours": lambda: pipeline.run(model.inputs)}
    ways |= {name: lambda way=way: way(model.inputs) for name, way in others.items()}
    times = measured(ways)
    ours = times.pop("ours")
    best = min(times, key=times.__getitem__)
    engine = ", ".join(dict.fromkeys(findings.engines.values())) or "aten"
    start, peer = first_answers(pipeline, model, threads)
    found: dict[str, object] = {
        "what": model.name, "value": round(ours / times[best], 3), "limit": LIMIT, "unit": "ratio", "best": best,
        "engine": engine, "eager": round(ours / times["eager"], 3), "threads": threads,
        "peers": {name: round(each / times["eager"], 3) for name, each in times.items()},
        "difference": findings.difference, "first answer": round(start / peer, 3),
    }  # fmt: skip
    return found


def first_answers(pipeline: tracepack.Pipeline, model: Model, threads: int) -> tuple[float, float]:
    """Seconds from a file to the first answer: ours, and those of ONNX Runtime with a model of one file."""
    with tempfile.TemporaryDirectory() as folder:
        mine, other = os.path.join(folder, "a.tpk"), os.path.join(folder, "a.onnx")
        pipeline.save(mine)
        with open(other, "wb") as file:
            file.write(exported(model))
        given = {name: value.numpy() for name, value in model.inputs.items()}
        ways = {
            "ours": lambda: tracepack.load(mine, trust=True).run(model.inputs),
            "peer": lambda: onnxruntime_session(other, threads).run(None, given),
        }
        times = {name: min(_timed(way) for _ in range(3)) for name, way in ways.items()}
    return times["ours"], times["peer"]


def _timed(way: Callable[[], Any]) -> float:
    start = time.perf_counter()
    way()
    return time.perf_counter() - start


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", default="")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--compile", action="store_true")
    options = parser.parse_args(arguments or [])
    torch.set_num_threads(options.threads)
    rows = []
    for name, make in models().items():
        if options.rows and not any(name.startswith(wanted) for wanted in options.rows.split(",")):
            continue
        print(name, flush=True)
        rows.append(measure(make(), options.threads, options.seconds, options.compile))
        print(f"  {rows[-1]}", flush=True)
        save(f"models-{options.threads}", rows)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
