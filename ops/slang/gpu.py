"""Runs specializations on CUDA and Vulkan, through a device of SlangPy.

CUDA kernels take torch's own pointers and run on torch's current stream, without a copy. A Vulkan device has
memory of its own, so CPU tensors are uploaded and results downloaded around each call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ..errors import DeviceError
from .codegen import Variant, generate
from .compiler import version
from .device import import_slangpy, shared_device
from .launch import Launcher
from .program import Program, with_lines
from .specialization import Specialization

_CHUNK = 1 << 23
"""Threads in one dispatch: 65535 groups of 256 is what every Vulkan driver takes."""


class GpuLauncher(Launcher):
    """Runs a specialization on a device of SlangPy.

    Args:
        program: holds the source.
        spec: the function with its argument kinds.
        kind: `cuda` or `vulkan`.

    Raises:
        DeviceError: the machine has no such device, or the function takes tensors whole on Vulkan.
    """

    def __init__(self, program: Program, spec: Specialization, kind: str) -> None:
        super().__init__(program, spec)
        self._kind = kind
        if kind == "cuda":
            self._device = torch.device("cuda", torch.cuda.current_device())
        else:
            self._pointer = lambda tensor: tensor  # the entry uploads it
        if kind == "vulkan" and not spec.is_pointwise:
            raise DeviceError(
                "functions that take whole tensors do not run on Vulkan with torch tensors",
                where=str(spec.function),
                fix="Pass SlangPy's tensors, or use device='cpu'.",
            )

    def _entry(self, variant: Variant) -> GpuEntry:
        return GpuEntry(self._program, self._spec, Variant(variant.modes, variant.needs, "gpu"), self._kind)


class GpuEntry:
    """One compiled entry on a device of SlangPy.

    Args:
        program: holds the source.
        spec: the function with its argument kinds.
        variant: forward or backward, for the target `gpu`.
        kind: `cuda` or `vulkan`.
    """

    def __init__(self, program: Program, spec: Specialization, variant: Variant, kind: str) -> None:
        self._device, self._kind = shared_device(kind), kind
        self._first_result = len(spec.slots)
        self._names = list(_names(spec, variant))
        source = program.source if variant.needs is None else program.source.with_concrete_tensors()
        text = with_lines(source, generate(spec, variant))
        name = f"tracepack_{source.key}_{abs(hash((spec, variant, version())))}"
        beside = source.includes[0] / f"{source.name}.slang" if source.includes else None
        module = self._device.load_module_from_source(name, text, beside)
        linked = self._device.link_program([module], [module.entry_point(variant.entry)])
        self._kernel = self._device.create_compute_kernel(linked)

    def __call__(self, total: int, dims: int, words: Sequence[Any]) -> None:
        """Runs elements 0 to `total`, in as many dispatches as the device needs."""
        if self._kind == "cuda":
            self._dispatch(total, dims, words)
            return
        buffers = [self._upload(word) if isinstance(word, torch.Tensor) else None for word in words]
        given = [word if buffer is None else buffer.device_address for word, buffer in zip(words, buffers, strict=True)]
        self._dispatch(total, 0, given)
        for word, buffer in list(zip(words, buffers, strict=True))[self._first_result :]:
            _download(buffer, word)

    def _dispatch(self, total: int, dims: int, words: Sequence[Any]) -> None:
        variables = dict(zip(self._names, words, strict=True))
        more: dict[str, Any] = {}
        if self._kind == "cuda":
            stream = torch.cuda.current_stream().cuda_stream
            more["cuda_stream"] = import_slangpy().NativeHandle.from_cuda_stream(stream)
        for begin in range(0, total, _CHUNK):
            count = min(_CHUNK, total - begin)
            fixed = {"tp_begin": begin, "tp_end": total, "tp_dims": dims}
            self._kernel.dispatch([count, 1, 1], **more, **fixed, **variables)

    def _upload(self, tensor: torch.Tensor) -> Any:
        spy = import_slangpy()
        usage = spy.BufferUsage.unordered_access | spy.BufferUsage.shader_resource
        data = _bytes_of(tensor)
        padded = np.pad(data, (0, max(-len(data) % 4, 4 - len(data), 0)))
        return self._device.create_buffer(size=len(padded), usage=usage, data=padded)


def _bytes_of(tensor: torch.Tensor) -> Any:
    return tensor.detach().reshape(-1).view(torch.uint8).numpy()


def _download(buffer: Any, tensor: torch.Tensor) -> None:
    target = _bytes_of(tensor)
    target[:] = buffer.to_numpy().reshape(-1).view(np.uint8)[: len(target)]


def _names(spec: Specialization, variant: Variant) -> list[str]:
    """The entry's parameters in the order of the words, see `codegen`."""
    names = [f"tp_s{index}" for index in range(len(spec.slots))]
    if variant.needs is None:
        return names + [f"tp_o{index}" for index in range(len(spec.outputs))]
    names += [f"tp_o{index}" for index, output in enumerate(spec.outputs) if output.type.kind == "view"]
    names += [f"tp_g{index}" for index in spec.differentiable_outputs]
    wanted = (i for i in spec.differentiable_slots if i in variant.needs or spec.slots[i].is_view)
    return names + [f"tp_ds{index}" for index in wanted]
