"""Which launcher runs a specialization on which kind of device."""

from __future__ import annotations

from ..errors import DeviceError
from .launch import Launcher
from .program import Program
from .specialization import Specialization


def launcher_for(target: str, program: Program, spec: Specialization) -> Launcher:
    """The launcher for tensors of a kind of device, or for a device of SlangPy.

    Args:
        target: a torch device type, or `vulkan`.
        program: the source.
        spec: the function with its argument kinds.

    Raises:
        DeviceError: Slang functions do not run there.
    """
    if target == "cpu":
        return Launcher(program, spec)
    if target in ("cuda", "vulkan"):
        from .gpu import GpuLauncher

        return GpuLauncher(program, spec, target)
    raise DeviceError(
        f"no Slang kernels for tensors on {target!r}",
        where=str(spec.function),
        expected="tensors on the CPU or on CUDA",
        fix="Move them with .cpu().",
    )
