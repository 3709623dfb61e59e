"""Runs the dispatches of a Slang program: by a shared library on the CPU, on torch's memory on CUDA, or on Vulkan.

Each takes the program's tensors by name, outputs among them, and a status of one int32; temporaries are its own.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import torch

from ...slang.compile.native_entry import NativeEntry
from ...slang.compile.native_library import whole_library
from ..expr.dtypes import stored
from ..expr.ir import Program
from .program import ENTRY, Generated

Run = Callable[[Mapping[str, torch.Tensor], torch.Tensor], None]


def device_run(program: Program, generated: Generated, kind: str, index: int) -> Run:
    """Compiles a program for a kind of device."""
    return {"cpu": on_cpu, "cuda": on_cuda, "vulkan": on_vulkan}[kind](program, generated, index)


def on_cpu(program: Program, generated: Generated, _: int) -> Run:
    """Runs the text as C++ on CPU tensors, for tests."""
    words = [ctypes.c_uint64] * (len(generated.tensors) + 1)
    entry = NativeEntry(whole_library(generated.text, ENTRY), words, parallel=True)

    def run(tensors: Mapping[str, torch.Tensor], status: torch.Tensor) -> None:
        everything = _with_temporaries(program, generated, tensors, status.device)
        pointers = [*(t.data_ptr() for t in everything.values()), status.data_ptr()]
        for number, stage in enumerate(generated.stages):
            entry(stage.threads, number, pointers)

    return run


def on_cuda(program: Program, generated: Generated, index: int) -> Run:
    """Runs on the memory of torch's CUDA tensors, on torch's stream."""
    code = _gpu_code("cuda", generated, index)

    def run(tensors: Mapping[str, torch.Tensor], status: torch.Tensor) -> None:
        everything = _with_temporaries(program, generated, tensors, status.device)
        addresses = {n: t.data_ptr() for n, t in everything.items()}
        _dispatch_all(code, generated, addresses, status.data_ptr())

    return run


def on_vulkan(program: Program, generated: Generated, _: int) -> Run:
    """Runs on Vulkan, with CPU tensors uploaded before and downloaded after the dispatches."""
    from ...slang.launch.gpu import download

    code = _gpu_code("vulkan", generated, 0)
    given = {*program.inputs, *program.contents}

    def run(tensors: Mapping[str, torch.Tensor], status: torch.Tensor) -> None:
        buffers = {
            n: code.upload(tensors[n]) if n in given else code.buffer(_size(program, n)) for n in generated.tensors
        }
        test = code.upload(status)
        _dispatch_all(code, generated, {n: b.device_address for n, b in buffers.items()}, test.device_address)
        for name in tensors.keys() - given:
            download(buffers[name], tensors[name])
        if generated.checks:
            download(test, status)

    return run


def _gpu_code(kind: str, generated: Generated, index: int) -> Any:
    from ...slang.launch.gpu import GpuCode

    name = f"tracepack_{hashlib.sha256(generated.text.encode()).hexdigest()[:24]}"
    return GpuCode(kind, name, generated.text, [s.entry for s in generated.stages], index=index)


def _dispatch_all(code: Any, generated: Generated, addresses: Mapping[str, int], status: int) -> None:
    for number, stage in enumerate(generated.stages):
        variables = {generated.tensors[n]: addresses[n] for n in stage.tensors}
        code.dispatch(number, stage.threads, {**variables, "tp_status": status})


def _size(program: Program, name: str) -> int:
    kind = program.tensors[name]
    return prod(kind.shape) * kind.dtype.bits // 8


def _with_temporaries(
    program: Program, generated: Generated, tensors: Mapping[str, torch.Tensor], device: torch.device
) -> dict[str, torch.Tensor]:
    """Every tensor of the text, in its order."""
    kinds = program.tensors
    return {
        n: tensors[n] if n in tensors else torch.empty(kinds[n].shape, dtype=stored(kinds[n].dtype), device=device)
        for n in generated.tensors
    }
