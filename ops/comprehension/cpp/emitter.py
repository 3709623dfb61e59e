"""Programs as compiled C++: generates, compiles, loads, and calls with the least that a call can cost."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from ...kernels.cpu import target
from ..expr.dtypes import stored
from ..expr.errors import ComprehensionInputError, index_outside
from ..expr.ir import Program
from ..loops.description import ProgramSchedule
from .library import compile_library, load_library
from .program import ENTRY, Generated, generate

# The allocation of inductor's code takes half a microsecond, the public `empty_strided` takes one.
empty: Callable[..., torch.Tensor] = getattr(torch._C._dynamo.guards, "_empty_strided_cpu", torch.empty_strided)

Check = Callable[[Sequence[torch.Tensor], Sequence[torch.Tensor], Sequence[torch.Tensor]], Any]
"""Takes inputs, contents and outputs; returns a function to run instead, or None."""


class CppEmitter:
    """Runs a program as compiled code; compiles (or finds the compiled library) when made.

    Args:
        program: the program to run.
        schedule: the schedule of its nests.
        clamp: clamp indices that are found outside, instead of raising.
        library: a library that was compiled before from the same text, for machines without a compiler.
        check: is given the inputs, contents and outputs of the first call; what it gives back runs instead from then
            on. It costs later calls one test.

    Raises:
        CompilerError: no compiler, or it refused the code.
    """

    def __init__(
        self,
        program: Program,
        schedule: ProgramSchedule,
        clamp: bool = False,
        library: Path | None = None,
        check: Check | None = None,
    ) -> None:
        self._program = program
        self.generated: Generated = generate(program, schedule, target(), clamp)
        self.path = library or compile_library(self.generated.text)
        self._workspace = self.generated.workspace
        self._library = load_library(self.path)
        self._entry: Callable[..., int] = getattr(self._library, ENTRY)
        outputs = list(dict.fromkeys(program.outputs))
        self._count = len(program.inputs) + len(program.contents) + len(outputs)
        self._entry.argtypes = [ctypes.c_void_p] * (self._count + 1)
        self._entry.restype = ctypes.c_int64
        types = [program.tensors[n] for n in outputs]
        self._kinds = [(t.shape, t.strides, stored(t.dtype)) for t in types]
        self._order = [outputs.index(n) for n in program.outputs]
        self._distinct = len(outputs) == len(program.outputs)
        self._check = check
        self._instead: Callable[..., list[torch.Tensor]] | None = None if check is None else self._first

    def __call__(self, inputs: Sequence[torch.Tensor], contents: Sequence[torch.Tensor] = ()) -> list[torch.Tensor]:
        """Runs on contiguous inputs of the program's shapes on the CPU.

        Raises:
            ComprehensionInputError: they are more or fewer than the program takes.
            IndexRangeError: an index read from a tensor lies outside.
        """
        if self._instead is not None:
            return self._instead(inputs, contents)
        outputs = [empty(*kind) for kind in self._kinds]
        pointers = [t.data_ptr() for t in (*inputs, *contents, *outputs)]
        if len(pointers) != self._count:  # ctypes passes more on, and all are shifted
            raise self._miscounted(len(pointers))
        if self._workspace:
            work = torch.empty(self._workspace, dtype=torch.uint8)
            status = self._entry(*pointers, work.data_ptr())
        else:
            status = self._entry(*pointers, 0)
        if status:
            load, at = self.generated.checks[status - 1]
            raise index_outside(load.tensor, load.dynamic[at].size, load.place)
        return outputs if self._distinct else [outputs[i] for i in self._order]

    def _miscounted(self, count: int) -> ComprehensionInputError:
        own = len(self._program.inputs) + len(self._program.contents)
        return ComprehensionInputError(
            f"the compiled code of '{self._program.name}' takes {own} tensors", got=count - self._count + own
        )

    def _first(self, inputs: Sequence[torch.Tensor], contents: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """The first call, which is checked."""
        self._instead = None
        outputs = self(inputs, contents)
        if self._check is not None and (other := self._check(inputs, contents, outputs)) is not None:
            self._instead = other
            return self(inputs, contents)
        return outputs
