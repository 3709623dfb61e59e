"""SlangPy's own devices, made ready: they serve SlangPy's tensors, CUDA and Vulkan, but not torch on the CPU.

SlangPy 0.43's CPU device reports that it can dispatch nothing, and its atomic float additions have no code on the CPU.
Both are mended here at run time: the limits are written, and a copy of SlangPy's shader folder with plain
additions, made from the installed package, comes first in the include paths.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from ..errors import DeviceError, MissingExtraError
from . import cache as disk
from .compiler import package_directory, version
from .program import without_atomics

if TYPE_CHECKING:
    import slangpy

KINDS = ("cpu", "vulkan", "cuda")


def import_slangpy() -> Any:
    """SlangPy, imported when it is first needed.

    Raises:
        MissingExtraError: slangpy is not installed.
    """
    try:
        import slangpy
    except ImportError:
        raise MissingExtraError(
            "Slang needs the package slangpy, which is not installed",
            where="tracepack.slang",
            fix="Install the extra: pip install 'tracepack[slang]'.",
        ) from None
    return slangpy


@cache
def cpu_shaders() -> Path:
    """A copy of SlangPy's shader folder whose float additions are plain; a dispatch has one thread there."""
    target = disk.folder(f"shaders-{disk.key(version())}")
    for path in (package_directory() / "slang").glob("*.slang"):
        text = path.read_text(encoding="utf-8")
        disk.write(target / path.name, without_atomics(text).encode())
    return target


def allow_dispatches(device: Any) -> None:
    """Writes the limits that SlangPy's CPU device leaves at zero."""
    limits = device.info.limits.max_compute_dispatch_thread_groups
    if limits.x == 0:
        limits.x, limits.y, limits.z = 1 << 30, 65535, 65535


def create_device(kind: str = "cpu", include_paths: tuple[Path, ...] = ()) -> slangpy.Device:
    """A device of SlangPy on which its functional API and its tensors work.

    Args:
        kind: `cpu`, `vulkan` or `cuda`.
        include_paths: where the sources' imports are.

    Raises:
        DeviceError: the kind is unknown, or the machine has no driver for it.
        MissingExtraError: slangpy is not installed.

    Example:
        >>> from tracepack.ops.slang import create_device
        >>> create_device("cpu").info.type.name
        'cpu'
    """
    if kind not in KINDS:
        raise DeviceError(f"unknown device {kind!r} for Slang", expected=f"one of {list(KINDS)}")
    spy = import_slangpy()
    options = spy.SlangCompilerOptions()
    options.optimization = spy.SlangOptimizationLevel.maximal
    paths = [*include_paths, Path(spy.SHADER_PATH)]
    options.include_paths = [cpu_shaders(), *paths] if kind == "cpu" else paths
    try:
        device = _open(spy, kind, options)
    except RuntimeError as error:
        raise DeviceError(
            f"no {kind} device for Slang on this machine",
            got=str(error).splitlines()[0],
            fix="Install its driver (mesa-vulkan-drivers for Vulkan without a GPU), or use device='cpu'.",
        ) from None
    allow_dispatches(device)
    return device


def _open(spy: Any, kind: str, options: Any) -> Any:
    """Opens the device; the CPU one warns about shader models, which it does not use."""
    before = spy.Logger.get().level
    spy.Logger.get().level = spy.LogLevel.error
    try:
        if kind == "cuda":
            handles = spy.get_cuda_current_context_native_handles()
            torch.cuda.init()  # type: ignore[no-untyped-call]  # torch leaves it untyped
            return spy.Device(type=spy.DeviceType.cuda, compiler_options=options, existing_device_handles=handles)
        return spy.Device(type=getattr(spy.DeviceType, kind), compiler_options=options)
    finally:
        spy.Logger.get().level = before


@cache
def shared_device(kind: str, index: int = 0) -> slangpy.Device:
    """One device of each kind and, on CUDA, of each number, for kernels that tracepack runs."""
    if kind != "cuda":
        return create_device(kind)
    with torch.cuda.device(index):
        return create_device(kind)
