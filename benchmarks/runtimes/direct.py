"""The runtimes that `benchmarks.models` compares with, fed directly: each as a function of a row's inputs."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable
from typing import Any

import torch

from benchmarks.runtimes.rows import Model

Way = Callable[[dict[str, Any]], Any]
"""A runtime as a function of a row's inputs."""


def makers(model: Model, data: bytes, threads: int, compiled: bool) -> dict[str, Callable[[], Way]]:
    """What makes a session of each runtime, from the model or its export."""
    found: dict[str, Callable[[], Way]] = {
        "eager": lambda: eager(model),
        "jit": lambda: jit(model),
        "onnxruntime": lambda: onnxruntime_direct(data, threads),
        "openvino": lambda: openvino_direct(data, threads),
    }
    if compiled:
        found |= {"inductor": lambda: inductor(model), "aoti": lambda: aoti(model)}
    return {name: lambda make=make: fed(model, make()) for name, make in found.items()}


def fed(model: Model, way: Way) -> Way:
    """The same, which tokenizes where the inputs are texts."""
    return way if not model.tokenizer else lambda inputs: way(model.tensors(inputs))


def peers(model: Model, made: dict[str, Callable[[], Way]]) -> dict[str, Way]:
    """A session of each runtime; one that cannot take the model is left out."""
    found: dict[str, Way] = {}
    for name, make in made.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                way = make()
                way(model.inputs)
        except Exception as error:
            print(f"  {name}: left out: {type(error).__name__}: {str(error).partition(chr(10))[0][:100]}")
            continue
        found[name] = way
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
