"""Runs specializations on CUDA and Vulkan, through a device of SlangPy.

CUDA kernels take torch's own pointers and run on torch's current stream, without a copy. A Vulkan device has
memory of its own, so CPU tensors are uploaded and results downloaded around each call.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from ...kernels.toolchain import has_toolchain
from ..compile.codegen import Repair, Variant, generate
from ..compile.elements import pointers_after_slots
from ..compile.program import Program, differentiable_source, with_lines
from ..language.loop_texts import ROUNDS
from ..language.specialization import Specialization
from .call_plan import Plan
from .cpu import Launcher
from .gradient_check import Ways
from .slangpy_device import import_slangpy, session_for, shared_device

_CHUNK = 1 << 23
"""Threads in one dispatch: 65535 groups of 256 is what every Vulkan driver takes."""


_thread = threading.local()


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

    def __init__(
        self, program: Program, spec: Specialization, kind: str, device: torch.device, repair: Repair | None = None
    ) -> None:
        super().__init__(program, spec, device, repair)
        self._kind = kind
        if kind == "vulkan":
            self._pointer = lambda tensor: tensor  # the entry uploads it

    def _entry(self, variant: Variant) -> GpuEntry:
        on_gpu = replace(variant, target="gpu")
        return GpuEntry(self._program, self._spec, on_gpu, self._kind, self._device)

    def _check(self, plan: Plan, arguments: Sequence[Any]) -> None:
        """Checks on the CPU, or on Vulkan without a compiler: Slang's fault is the same on every target."""
        if has_toolchain() or self._kind == "vulkan":
            super()._check(plan, arguments)

    def _ways(self, repair: Repair) -> Ways:
        if has_toolchain():
            return super()._ways(repair)
        trial = GpuLauncher(self._program, self._spec, self._kind, self._device, repair)
        return trial.forward, trial.backward

    def _fewest_rounds(self, plan: Plan) -> int:
        """The whole limit: a GPU does not report that a loop ran longer."""
        fewest = super()._fewest_rounds(plan)
        return max(fewest, ROUNDS) if fewest else 0

    def _threads(self, plan: Plan, direction: tuple[int, ...] | None) -> int:
        """One thread: the device splits the work."""
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
        self._kind = kind
        after = [name for name, _ in pointers_after_slots(spec, variant.needs)]
        self._names = [*(f"tp_s{index}" for index in range(len(spec.slots))), *after]
        self._results = set(after) if variant.needs is None else {name for name in after if name.startswith("tp_ds")}
        self._results |= {f"tp_g{i}" for i, output in enumerate(spec.outputs) if output.type.kind == "view"}
        program.check_shared(spec, variant)
        source = program.source if variant.needs is None else differentiable_source(program.source, variant)
        text = with_lines(source, generate(spec, variant))
        name = f"tracepack_{hashlib.sha256(text.encode()).hexdigest()[:24]}"
        index = device.index or 0
        with program.compile_errors():
            self._code = GpuCode(kind, name, text, [variant.entry], session_for(kind, index, source), index)

    def __call__(self, total: int, dims: Any, words: Sequence[Any]) -> None:
        """Runs elements 0 to `total`, in as many dispatches as the device needs.

        Args:
            total: the number of elements.
            dims: the table of sizes: its address on CUDA, the tensor itself for Vulkan.
            words: for each slot its number, address or tensor, then the same for what follows the slots.
        """
        given = {"tp_dims": dims, **dict(zip(self._names, words, strict=True))}
        if self._kind == "cuda":
            self._code.dispatch(0, total, given)
            return
        # One buffer for each tensor, so that two pointers to one tensor point to one buffer.
        buffers = {id(word): self._code.upload(word) for word in given.values() if isinstance(word, torch.Tensor)}
        on_device = {
            name: buffers[id(word)].device_address if id(word) in buffers else word for name, word in given.items()
        }
        self._code.dispatch(0, total, on_device)
        for name in self._results & given.keys():
            download(buffers[id(given[name])], given[name])

    def split(self, total: int, dims: Any, words: Sequence[Sequence[Any]]) -> None:
        """Refuses: a GPU splits the work itself."""
        raise NotImplementedError


class GpuCode:
    """The entries of one module on a device of SlangPy.

    Args:
        kind: `cuda` or `vulkan`.
        name: the name of the module, which no other text may have.
        text: the Slang text.
        entries: the names of its entry points.
        session: the session that compiles it; by default that of the device.
        index: the number of the device, on CUDA.
    """

    def __init__(
        self, kind: str, name: str, text: str, entries: Sequence[str], session: Any = None, index: int = 0
    ) -> None:
        self._kind, self._index, self.device = kind, index, shared_device(kind, index)
        compiler = session or self.device
        with self._current():
            module = compiler.load_module_from_source(name, text)
            self._kernels = [
                self.device.create_compute_kernel(compiler.link_program([module], [module.entry_point(entry)]))
                for entry in entries
            ]

    def _current(self) -> AbstractContextManager[Any]:
        if self._kind != "cuda":
            return nullcontext()
        if self._index not in (entered := _thread.__dict__.setdefault("entered", set())):
            # SlangPy's launches need CUDA's context, which a thread enters with its first call of CUDA's runtime.
            torch.cuda.synchronize(self._index)
            entered.add(self._index)
        return torch.cuda.device(self._index)

    def dispatch(self, entry: int, total: int, variables: Mapping[str, Any]) -> None:
        """Runs elements 0 to `total` of the entry with that number, in as many dispatches as the device needs.

        On CUDA it joins torch's current stream.
        """
        more: dict[str, Any] = {}
        if self._kind == "cuda":
            stream = torch.cuda.current_stream(self._index).cuda_stream
            more["cuda_stream"] = import_slangpy().NativeHandle.from_cuda_stream(stream)
        with self._current():
            for begin in range(0, total, _CHUNK):
                count = min(_CHUNK, total - begin)
                self._kernels[entry].dispatch([count, 1, 1], **more, tp_begin=begin, tp_end=total, **variables)

    def upload(self, tensor: torch.Tensor) -> Any:
        """A buffer of the device with a CPU tensor's content."""
        data = _bytes_of(tensor)
        return self.buffer(len(data), np.pad(data, (0, max(-len(data) % 4, 4 - len(data), 0))))

    def buffer(self, size: int, data: Any = None) -> Any:
        """A buffer of at least this number of bytes."""
        spy = import_slangpy()
        usage = spy.BufferUsage.unordered_access | spy.BufferUsage.shader_resource
        return self.device.create_buffer(size=max(-(-size // 4) * 4, 4), usage=usage, data=data)


def _bytes_of(tensor: torch.Tensor) -> Any:
    # An expanded tensor of one element is contiguous, but its stride of 0 lets it not be seen as bytes.
    return tensor.detach().as_strided((tensor.numel(),), (1,)).view(torch.uint8).numpy()


def download(buffer: Any, tensor: torch.Tensor) -> None:
    """Fills a CPU tensor from a buffer."""
    target = _bytes_of(tensor)
    target[:] = buffer.to_numpy().reshape(-1).view(np.uint8)[: len(target)]
