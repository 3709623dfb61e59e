"""One compiled program: which emitter runs it, chosen from options, the device, and what this machine has."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch

from .compiler import library_key, target
from .cpp_emitter import CppEmitter
from .cpp_program import generate
from .errors import CompilerError
from .ir import Program
from .options import Options
from .schedule import ProgramSchedule
from .torch_emitter import TorchEmitter
from .warning import ComprehensionWarning

Run = Callable[..., list[torch.Tensor]]


@dataclass
class Artifacts:
    """Libraries that travelled with a kernel, by key; used only where the archive is trusted."""

    libraries: dict[str, Path] = field(default_factory=dict)
    said: bool = False

    def say(self, reason: str) -> None:
        """Says once that a kernel runs on torch's operators."""
        if not self.said:
            self.said = True
            warnings.warn(f"a comprehension runs on torch's operators: {reason}", ComprehensionWarning, stacklevel=2)


def make_runner(
    program: Program, options: Options, device: torch.device, clamp: bool, artifacts: Artifacts | None = None
) -> Run:
    """The fastest emitter that the options and the machine allow.

    Generated code needs the CPU, and a compiler or a library that was compiled for this instruction set before.
    """
    if device.type != "cpu" or any(t.numel == 0 for t in program.tensors.values()):
        return TorchEmitter(program, clamp)
    if artifacts is not None and not options.fits(program):
        options = Options()  # packed by a version that lowers otherwise
    schedule = options.resolve(program)
    if artifacts is not None and (carried := _carried(program, options, clamp, artifacts)) is not None:
        return carried
    if schedule is None:
        if artifacts is not None and options.preset != "torch" and options.schedule is not None:
            artifacts.say("there is no compiler, and no artifact for this machine that is trusted")
        return TorchEmitter(program, clamp)
    try:
        return CppEmitter(program, schedule, clamp)
    except CompilerError as error:
        if artifacts is None:
            raise
        artifacts.say(error.what)
        return TorchEmitter(program, clamp)


def _carried(program: Program, options: Options, clamp: bool, artifacts: Artifacts) -> CppEmitter | None:
    """A runner on a library from the archive, when there is one for exactly this code and instruction set."""
    schedule: ProgramSchedule | None = options.schedule
    if schedule is None or not artifacts.libraries or not options.fits(program):
        return None
    key = artifact_key(generate(program, schedule, target(), clamp).text)
    path = artifacts.libraries.get(key)
    return None if path is None else CppEmitter(program, schedule, clamp, path)


def artifact_key(text: str) -> str:
    """The name of an artifact: of its source and instruction set, whichever compiler made it."""
    return f"{target().name}-{library_key(text, with_compiler=False)}"
