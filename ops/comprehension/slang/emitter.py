"""Programs as Slang kernels: on CUDA with torch's own memory, on Vulkan, and on the CPU, where they can be tested.

A program is one module and a few dispatches on one stream. What lies between two of them stays on the device.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ...graph.errors import DeviceError
from ...slang.language.errors import SlangError
from ..expr.dtypes import stored
from ..expr.errors import CompilerError, index_outside
from ..expr.ir import Program
from ..loops.description import ProgramSchedule
from ..program.prefixes import in_blocks
from .devices import device_run
from .program import Generated, generate


class SlangEmitter:
    """Runs a program as Slang kernels; compiles them when made.

    Args:
        program: the program to run; none of its tensors is empty.
        schedule: its schedule, in the axes of `slang_program.lowered`.
        clamp: clamp indices that are found outside, instead of raising.
        device: `cuda` takes tensors that are there, `vulkan` and `cpu` take those of the CPU.
        index: which device, on CUDA.

    Raises:
        CompilerError: Slang or what compiles its output refused the code.
        DeviceError: the machine has no such device, or it lacks a function that the program needs.
        MissingExtraError: slangpy is not installed.
    """

    def __init__(
        self, program: Program, schedule: ProgramSchedule, clamp: bool = False, device: str = "cuda", index: int = 0
    ) -> None:
        program = in_blocks(program)  # several threads compute a running total in blocks
        self._program = program
        self._device = torch.device("cuda", index) if device == "cuda" else torch.device("cpu")
        self.generated: Generated = generate(program, schedule, clamp)
        if device == "vulkan" and self.generated.single_only:
            raise DeviceError(
                f"Vulkan has no function '{self.generated.single_only}' of doubles",
                where=program.name,
                fix="Use floats there, or another device.",
            )
        self._status = torch.zeros(1, dtype=torch.int32, device=self._device)
        try:
            self._run = device_run(program, self.generated, device, index)
        except (SlangError, RuntimeError) as error:  # slangpy raises the latter
            lines = str(error).strip().splitlines()
            raise CompilerError("generated Slang was refused", where=program.name, got=lines[0][:300]) from error

    def __call__(self, inputs: Sequence[torch.Tensor], contents: Sequence[torch.Tensor] = ()) -> list[torch.Tensor]:
        """Runs on contiguous inputs of the program's shapes; the results are contiguous and new.

        Raises:
            IndexRangeError: an index read from a tensor lies outside.
        """
        p = self._program
        tensors = dict(zip((*p.inputs, *p.contents), (*inputs, *contents), strict=True))
        for name in dict.fromkeys(p.outputs):
            tensors[name] = self._new(name)
        status = self._status.clone() if self.generated.checks else self._status
        self._run(tensors, status)
        if self.generated.checks and (number := int(status)):
            load, at = self.generated.checks[number - 1]
            raise index_outside(load.tensor, load.dynamic[at].size, load.place)
        return [tensors[name] for name in p.outputs]

    def _new(self, name: str) -> torch.Tensor:
        kind = self._program.tensors[name]
        return torch.empty(kind.shape, dtype=stored(kind.dtype), device=self._device)
