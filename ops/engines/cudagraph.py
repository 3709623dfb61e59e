"""The engine `cudagraph`: the flat function on a CUDA card, recorded once for each signature and then replayed.

A replay launches all kernels of the region at once. It reads and writes the memory of its recording: inputs are copied
in, and outputs out. What cannot be recorded, as a function that waits for the card, CUDA refuses when it is tried.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import torch

from ..graph.device import Device
from ..graph.program import Artefact
from ..runtime.interrupts.changes import forkable
from ..runtime.plan import Plan
from .engine import Engine, Task, described
from .region import Region

MOST_GRAPHS = 16  # of one region; each holds the memory of a run
_WARM_UPS = 2  # before a recording: libraries choose kernels and make their workspaces in the first runs


class CudaGraph(Engine):
    """CUDA graphs of the flat function."""

    name: ClassVar[str] = "cudagraph"
    package: ClassVar[str] = "torch"
    devices: ClassVar[Sequence[str]] = ("cuda",)

    def make(self, task: Task) -> Artefact:
        """An artefact without files: what is recorded lives in one process."""
        return Artefact(self.name, self.version(), described(task), {}, {})

    def open(self, artefact: Artefact, region: Region, device: Device) -> Callable[..., Sequence[torch.Tensor]]:
        """A function that records a signature at its first call."""
        function = Plan(region.graph, lambda body: device, device).fast
        recorded: dict[Any, _Recording] = {}
        lock = forkable(threading.Lock())

        def call(*values: torch.Tensor) -> Sequence[torch.Tensor]:
            key = tuple([(value.shape, value.stride()) for value in values])
            with lock:  # a recording has one set of memory
                found = recorded.get(key)
                if found is None:
                    if len(recorded) >= MOST_GRAPHS:
                        del recorded[next(iter(recorded))]
                    found = recorded[key] = _Recording(function, values)
                return found(values)

        return call


class _Recording:
    """One signature, recorded.

    Args:
        function: the flat function.
        values: inputs of the signature.
    """

    def __init__(self, function: Callable[..., Any], values: Sequence[torch.Tensor]) -> None:
        self.inputs = [value.detach().clone(memory_format=torch.preserve_format) for value in values]
        self.done: Any = None
        cuda: Any = torch.cuda
        side = cuda.Stream()
        side.wait_stream(cuda.current_stream())
        with torch.no_grad(), cuda.stream(side):
            for _ in range(_WARM_UPS):
                function(*self.inputs)
        cuda.current_stream().wait_stream(side)
        self.graph = cuda.CUDAGraph()
        with torch.no_grad(), cuda.graph(self.graph):
            self.outputs: Sequence[torch.Tensor] = function(*self.inputs)

    def __call__(self, values: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Replays it; another stream waits until what this one replayed has been read."""
        cuda: Any = torch.cuda
        if self.done is not None:
            cuda.current_stream().wait_event(self.done)
        for mine, value in zip(self.inputs, values, strict=True):
            mine.copy_(value.detach())
        self.graph.replay()
        found = [output.clone() for output in self.outputs]
        self.done = cuda.Event()
        self.done.record()
        return found
