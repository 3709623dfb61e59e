"""Chooses the launcher of a specialization for a kind of device."""

from __future__ import annotations

import torch

from ...graph.errors import DeviceError
from ..compile.program import Program
from ..language.specialization import Specialization
from .cpu import Launcher


def launcher_for(target: str, device: torch.device, program: Program, spec: Specialization) -> Launcher:
    """The launcher for tensors on a device.

    Args:
        target: `""`, or `vulkan` for CPU tensors that shall go to a Vulkan device.
        device: the device of the tensors.
        program: the program of the source.
        spec: the function with its argument kinds.

    Raises:
        DeviceError: Slang functions do not run there.
    """
    if device.type == "cpu" and not target:
        return Launcher(program, spec)
    if device.type == ("cpu" if target else "cuda"):
        from .gpu import GpuLauncher

        return GpuLauncher(program, spec, target or "cuda", device)
    raise DeviceError(
        f"no Slang kernels for tensors on {device}",
        where=str(spec.function),
        expected="tensors on the CPU" if target else "tensors on the CPU or on CUDA",
        fix="Move them with .cpu().",
    )
