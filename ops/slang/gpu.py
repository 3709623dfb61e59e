"""Runs specializations on CUDA and Vulkan, through a device of SlangPy.

CUDA kernels take torch's own pointers and run on torch's current stream, without a copy. A Vulkan device has
memory of its own, so CPU tensors are uploaded and results downloaded around each call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
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
        self._kind = kind
        self._first_result = len(spec.slots)
        self._names = list(_names(spec, variant))
        source = program.source if variant.needs is None else program.source.with_concrete_tensors()
        text = with_lines(source, generate(spec, variant))
        name = f"tracepack_{source.key}_{abs(hash((spec, variant, version())))}"
        beside = source.includes[0] / f"{source.name}.slang" if source.includes else None
        index = torch.cuda.current_device() if kind == "cuda" else 0
        self._code = GpuCode(kind, name, text, [variant.entry], beside, index)

    def __call__(self, total: int, dims: int, words: Sequence[Any]) -> None:
        """Runs elements 0 to `total`, in as many dispatches as the device needs."""
        if self._kind == "cuda":
            self._dispatch(total, dims, words)
            return
        upload = self._code.upload
        buffers = [upload(word) if isinstance(word, torch.Tensor) else None for word in words]
        given = [word if buffer is None else buffer.device_address for word, buffer in zip(words, buffers, strict=True)]
        self._dispatch(total, 0, given)
        for word, buffer in list(zip(words, buffers, strict=True))[self._first_result :]:
            download(buffer, word)

    def _dispatch(self, total: int, dims: int, words: Sequence[Any]) -> None:
        self._code.dispatch(0, total, {"tp_dims": dims, **dict(zip(self._names, words, strict=True))})


class GpuCode:
    """The entries of one module on a device of SlangPy.

    Args:
        kind: `cuda` or `vulkan`.
        name: of the module; no other text may have it.
        text: Slang's.
        entries: the names of its entry points.
        beside: the file next to which its imports are.
        index: of the device, on CUDA.
    """

    def __init__(
        self, kind: str, name: str, text: str, entries: Sequence[str], beside: Path | None = None, index: int = 0
    ) -> None:
        self._kind, self.device = kind, shared_device(kind, index)
        module = self.device.load_module_from_source(name, text, beside)
        self._kernels = [
            self.device.create_compute_kernel(self.device.link_program([module], [module.entry_point(entry)]))
            for entry in entries
        ]

    def dispatch(self, entry: int, total: int, variables: Mapping[str, Any]) -> None:
        """Runs elements 0 to `total` of the entry with that number, in as many dispatches as the device needs.

        On CUDA it joins torch's current stream.
        """
        more: dict[str, Any] = {}
        if self._kind == "cuda":
            stream = torch.cuda.current_stream().cuda_stream
            more["cuda_stream"] = import_slangpy().NativeHandle.from_cuda_stream(stream)
        for begin in range(0, total, _CHUNK):
            count = min(_CHUNK, total - begin)
            self._kernels[entry].dispatch([count, 1, 1], **more, tp_begin=begin, tp_end=total, **variables)

    def upload(self, tensor: torch.Tensor) -> Any:
        """A buffer of the device with a CPU tensor's content."""
        data = _bytes_of(tensor)
        return self.buffer(len(data), np.pad(data, (0, max(-len(data) % 4, 4 - len(data), 0))))

    def buffer(self, size: int, data: Any = None) -> Any:
        """A buffer of at least so many bytes."""
        spy = import_slangpy()
        usage = spy.BufferUsage.unordered_access | spy.BufferUsage.shader_resource
        return self.device.create_buffer(size=max(-(-size // 4) * 4, 4), usage=usage, data=data)


def _bytes_of(tensor: torch.Tensor) -> Any:
    return tensor.detach().reshape(-1).view(torch.uint8).numpy()


def download(buffer: Any, tensor: torch.Tensor) -> None:
    """Fills a CPU tensor from a buffer."""
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
