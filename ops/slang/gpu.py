"""Runs specializations on CUDA and Vulkan, through a device of SlangPy.

CUDA kernels take torch's own pointers and run on torch's current stream, without a copy. A Vulkan device has
memory of its own, so CPU tensors are uploaded and results downloaded around each call.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch

from .codegen import Variant, generate, pointers_after_slots
from .device import import_slangpy, session_for, shared_device
from .launch import Launcher, Plan
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
        device: where the tensors are.

    Raises:
        DeviceError: the machine has no such device.
    """

    def __init__(self, program: Program, spec: Specialization, kind: str, device: torch.device) -> None:
        super().__init__(program, spec, device)
        self._kind = kind
        if kind == "vulkan":
            self._pointer = lambda tensor: tensor  # the entry uploads it

    def _entry(self, variant: Variant) -> GpuEntry:
        on_gpu = Variant(variant.modes, variant.needs, "gpu", variant.rank)
        return GpuEntry(self._program, self._spec, on_gpu, self._kind, self._device)

    def _threads(self, plan: Plan, direction: tuple[int, ...] | None) -> int:
        """One: the device splits the work itself."""
        return 1


class GpuEntry:
    """One compiled entry on a device of SlangPy.

    Args:
        program: holds the source.
        spec: the function with its argument kinds.
        variant: forward or backward, for the target `gpu`.
        kind: `cuda` or `vulkan`.
        device: where the tensors are.

    Raises:
        SlangCompileError: Slang refused the source.
    """

    def __init__(
        self, program: Program, spec: Specialization, variant: Variant, kind: str, device: torch.device
    ) -> None:
        self._torch_device, self._kind = device, kind
        self._device = shared_device(kind, device.index or 0)
        after = [name for name, _ in pointers_after_slots(spec, variant.needs)]
        self._names = [*(f"tp_s{index}" for index in range(len(spec.slots))), *after]
        self._results = set(after) if variant.needs is None else {name for name in after if name.startswith("tp_ds")}
        self._results |= {f"tp_g{i}" for i, output in enumerate(spec.outputs) if output.type.kind == "view"}
        source = program.source if variant.needs is None else program.source.with_concrete_tensors()
        text = with_lines(source, generate(spec, variant))
        session = session_for(kind, device.index or 0, source)
        name = f"tracepack_{hashlib.sha256(text.encode()).hexdigest()[:24]}"
        with self._on_device(), program.compile_errors():
            module = session.load_module_from_source(name, text)
            linked = session.link_program([module], [module.entry_point(variant.entry)])
            self._kernel = self._device.create_compute_kernel(linked)

    def _on_device(self) -> AbstractContextManager[Any]:
        return torch.cuda.device(self._torch_device) if self._kind == "cuda" else nullcontext()

    def __call__(self, total: int, dims: Any, words: Sequence[Any]) -> None:
        """Runs elements 0 to `total`, in as many dispatches as the device needs.

        Args:
            total: the number of elements.
            dims: the table of sizes: its address on CUDA, the tensor itself for Vulkan.
            words: for each slot its number, address or tensor, then the same for what follows the slots.
        """
        given = {"tp_dims": dims, **dict(zip(self._names, words, strict=True))}
        if self._kind == "cuda":
            self._dispatch(total, given)
            return
        # One buffer for each tensor: two pointers to the same memory must stay so.
        buffers = {id(word): self._upload(word) for word in given.values() if isinstance(word, torch.Tensor)}
        on_device = {
            name: buffers[id(word)].device_address if id(word) in buffers else word for name, word in given.items()
        }
        self._dispatch(total, on_device)
        for name in self._results & given.keys():
            _download(buffers[id(given[name])], given[name])

    def split(self, total: int, dims: Any, words: Sequence[Sequence[Any]]) -> None:
        """Not for a GPU, which splits the work itself."""
        raise NotImplementedError

    def _dispatch(self, total: int, variables: dict[str, Any]) -> None:
        more: dict[str, Any] = {}
        if self._kind == "cuda":
            stream = torch.cuda.current_stream(self._torch_device).cuda_stream
            more["cuda_stream"] = import_slangpy().NativeHandle.from_cuda_stream(stream)
        with self._on_device():
            for begin in range(0, total, _CHUNK):
                count = min(_CHUNK, total - begin)
                self._kernel.dispatch([count, 1, 1], **more, tp_begin=begin, tp_end=total, **variables)

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
