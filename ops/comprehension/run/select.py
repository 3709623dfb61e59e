"""Chooses the emitter that runs a program, by options, the device, and the compilers of this machine."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from importlib import util
from pathlib import Path

import torch

from ...graph.errors import DeviceError, MissingExtraError, shown
from ...kernels.cache import CacheFolderError
from ...kernels.cpu import target
from ..cpp.emitter import Check, CppEmitter
from ..cpp.library import library_key
from ..cpp.program import generate
from ..expr.errors import CompilerError, ComprehensionWarning, NoCompilerError
from ..expr.ir import Program
from ..loops.description import ProgramSchedule
from ..schedule.gpu import gpu_schedule
from ..schedule.options import Options
from ..torch.emitter import TorchEmitter
from .first_call import check_first_call

Run = Callable[..., list[torch.Tensor]]
GPUS = ("cuda", "vulkan")


@dataclass
class Artifacts:
    """What came with a kernel from an archive: libraries by key, none without trust, and whether there was trust."""

    libraries: dict[str, Path] = field(default_factory=dict)
    trusted: bool = False
    said: bool = False

    def say(self, reason: str) -> None:
        """Says once that a kernel runs on torch's operators."""
        if not self.said:
            self.said = True
            warnings.warn(
                shown(f"a comprehension runs on torch's operators: {reason}"), ComprehensionWarning, stacklevel=2
            )


def make_runner(
    program: Program, options: Options, device: torch.device, clamp: bool, artifacts: Artifacts | None = None
) -> Run:
    """The fastest emitter that the options and the machine allow.

    Generated C++ needs the CPU, and a compiler or a library that was compiled for this instruction set before;
    Slang needs a GPU, and trust where the kernel came from an archive.
    """
    if any(t.numel == 0 for t in program.tensors.values()) or any(0 in n.extents.values() for n in program.nests):
        return TorchEmitter(program, clamp)
    if device.type in GPUS:
        return _on_gpu(program, options, device, clamp, artifacts)
    if device.type != "cpu":
        return TorchEmitter(program, clamp)
    if artifacts is not None and not options.fits(program):
        options = Options()  # packed by a version with other lowering
    schedule = options.resolve(program)
    if artifacts is not None and (carried := _carried(program, options, clamp, artifacts)) is not None:
        return carried
    if schedule is None:
        if options.preset != "torch":
            more = "" if artifacts is None else ", and the archive carries no code for this machine that is trusted"
            (artifacts or _HERE).say(f"no C++ compiler was found{more}")
        return TorchEmitter(program, clamp)
    try:
        return CppEmitter(program, schedule, clamp, check=_check(program, options, clamp))
    except NoCompilerError as error:
        (artifacts or _HERE).say(str(error))
    except CompilerError as error:
        if artifacts is None:
            raise
        artifacts.say(error.what)
    return TorchEmitter(program, clamp)


def has_slang() -> bool:
    """Whether Slang can be compiled for this machine's GPUs: slangpy is there, and torch's CUDA is NVIDIA's."""
    return util.find_spec("slangpy") is not None and torch.version.hip is None


def _on_gpu(program: Program, options: Options, device: torch.device, clamp: bool, artifacts: Artifacts | None) -> Run:
    """Slang's kernels, or torch's operators where they are the better bet, not trusted, or cannot be had."""
    cuda = device.type == "cuda"
    schedule = gpu_schedule(program, options, cuda)
    if schedule is None or (cuda and not has_slang()):
        return TorchEmitter(program, clamp)
    if artifacts is not None and not artifacts.trusted:
        artifacts.say("Slang's compiler and the GPU's driver are given text of an archive only with trust=True")
        return TorchEmitter(program, clamp)
    from ..slang.emitter import SlangEmitter

    try:
        return SlangEmitter(program, schedule, clamp, device.type, device.index or 0)
    except (CacheFolderError, CompilerError, DeviceError, MissingExtraError) as error:
        if artifacts is None and not cuda:
            raise  # device="vulkan"
        (artifacts or _HERE).say(str(error))
        return TorchEmitter(program, clamp)


_HERE = Artifacts(trusted=True)
"""Says once for all layers that were defined in this process."""


def _carried(program: Program, options: Options, clamp: bool, artifacts: Artifacts) -> CppEmitter | None:
    """A runner on a library from the archive, when there is one for exactly this code and instruction set."""
    schedule: ProgramSchedule | None = options.schedule
    if schedule is None or not artifacts.libraries or not options.fits(program):
        return None
    key = artifact_key(generate(program, schedule, target(), clamp).text)
    path = artifacts.libraries.get(key)
    if path is None:
        return None
    try:
        return CppEmitter(program, schedule, clamp, path, _check(program, options, clamp))
    except NoCompilerError:  # code may not run from the folder of temporary files; from the cache, perhaps
        return None


def _check(program: Program, options: Options, clamp: bool) -> Check | None:
    """What holds the first call against torch's operators."""
    return partial(check_first_call, program, clamp) if options.check else None


def artifact_key(text: str) -> str:
    """The name of an artifact: of its source and instruction set, whichever compiler made it."""
    return f"{target().name}-{library_key(text)}"
