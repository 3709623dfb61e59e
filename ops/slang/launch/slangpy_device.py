"""Prepares devices of SlangPy, which run SlangPy's tensors, CUDA and Vulkan, but not torch on the CPU.

SlangPy 0.43's CPU device reports that it can dispatch nothing, and its atomic float additions have no code on the CPU.
Both are mended here at run time: the limits are written, and a copy of SlangPy's shader folder with plain
additions, made from the installed package, comes first in the include paths.
"""

from __future__ import annotations

import shutil
import struct
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from ...graph.errors import DeviceError, MissingExtraError
from ...kernels import cache as disk
from ..compile.native_library import slang_toolchain, zig_as_gxx
from ..compile.program import with_lines
from ..compile.slangc import package_directory, version
from ..compile.slangpy_tensors import tensor_module, without_atomics
from ..language.errors import CompilerNotFoundError
from ..language.sources import Source

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


def cpu_shaders() -> Path:
    """A copy of SlangPy's shader folder whose float additions are plain; a dispatch has one thread there.

    It is made again where a file of it is missing or damaged.
    """
    sources = sorted((package_directory() / "slang").glob("*.slang"))
    name = f"shaders-{disk.key(version())}"
    target = disk.place("slang", name, sources[0].name).parent
    if not all(disk.holds(target / path.name) for path in sources):
        target = disk.folder("slang", name)
        for path in sources:
            disk.write_kept(target / path.name, without_atomics(path.read_text(encoding="utf-8")).encode())
    return target


def allow_dispatches(device: Any) -> None:
    """Writes the limits that SlangPy's CPU device leaves at zero."""
    limits = device.info.limits.max_compute_dispatch_thread_groups
    if limits.x == 0:
        limits.x, limits.y, limits.z = 1 << 30, 65535, 65535


def check_index(kind: str, index: int) -> None:
    """Refuses the number of a device that this machine lacks; on the CPU and on Vulkan Slang runs on the first alone.

    Raises:
        DeviceError: another number was given.
    """
    if index == 0:
        return
    if kind == "cuda":
        there = [f"cuda:{number}" for number in range(torch.cuda.device_count())]
        if f"cuda:{index}" in there:
            return
        expected = f"one of {', '.join(there)}"
    else:
        spy = import_slangpy()
        adapters = [each.name for each in spy.Device.enumerate_adapters(spy.DeviceType.vulkan)]
        expected = f"'vulkan', the first of {', '.join(adapters) or 'no adapters'}" if kind == "vulkan" else "'cpu'"
    raise DeviceError("no such device for Slang", got=f"'{kind}:{index}'", expected=expected)


def create_device(kind: str = "cpu", include_paths: tuple[Path, ...] = (), *, index: int = 0) -> slangpy.Device:
    """A device of SlangPy on which its functional API and its tensors work.

    Args:
        kind: `cpu`, `vulkan` or `cuda`.
        include_paths: the directories of the sources' imports.
        index: the number of the CUDA device; the others have the number 0 alone.

    Raises:
        CompilerNotFoundError: the CPU has no C++ compiler.
        DeviceError: the kind is unknown, or the machine has no driver for it, or no device of that number.
        MissingExtraError: slangpy is not installed.

    Example:
        >>> from tracepack.ops.slang import create_device
        >>> create_device("cpu").info.type.name
        'cpu'
    """
    if kind not in KINDS:
        raise DeviceError(f"unknown device {kind!r} for Slang", expected=f"one of {list(KINDS)}")
    if kind != "cuda":
        check_index(kind, index)
    spy = import_slangpy()
    if kind == "cpu":
        _check_compiler()
    options = spy.SlangCompilerOptions()
    options.optimization = spy.SlangOptimizationLevel.maximal
    paths = [*include_paths, Path(spy.SHADER_PATH)]
    options.include_paths = [cpu_shaders(), *paths] if kind == "cpu" else paths
    try:
        device = _open(spy, kind, options, index)
    except (RuntimeError, AssertionError) as error:  # torch without CUDA asserts
        raise DeviceError(
            f"no {kind} device for Slang on this machine",
            got=str(error).splitlines()[0],
            fix="Install its driver (mesa-vulkan-drivers for Vulkan without a GPU), or use device='cpu'.",
        ) from None
    allow_dispatches(device)
    return device


def _check_compiler() -> None:
    """Slang's own CPU device starts g++ or clang++ by name, so zig must go by such a name on the PATH."""
    toolchain = slang_toolchain()
    if toolchain.family != "zig" or shutil.which("g++") or shutil.which("clang++"):
        return
    raise CompilerNotFoundError(
        "SlangPy's CPU device starts g++ or clang++ by name, and the PATH has neither",
        got=f"zig as {toolchain.command[0]}",
        fix=f'Start Python with PATH="{zig_as_gxx(toolchain)}:$PATH": the g++ there runs zig.',
    )


def _open(spy: Any, kind: str, options: Any, index: int) -> Any:
    """Opens the device; the CPU one warns about shader models, which it does not use."""
    before = spy.Logger.get().level
    spy.Logger.get().level = spy.LogLevel.error
    kept = {
        "compiler_options": options,
        "shader_cache_path": str(_shader_cache(kind)),
        "enable_hot_reload": False,  # shaders that are made again would end all that the device holds
    }
    try:
        if kind == "cuda":
            with torch.cuda.device(index):
                torch.cuda.synchronize()  # makes torch's context of this device the current one
                handles = spy.get_cuda_current_context_native_handles()
                return spy.Device(type=spy.DeviceType.cuda, existing_device_handles=handles, **kept)
        return spy.Device(type=getattr(spy.DeviceType, kind), **kept)
    finally:
        spy.Logger.get().level = before


_HEADER = struct.Struct("<40xI92xQ")
"""Of LMDB's first two pages: the size of a page, and the number of the last one."""


def _shader_cache(kind: str) -> Path:
    """The folder in which SlangPy keeps compiled shaders; one whose end is missing would end the process."""
    folder = disk.folder("slang", f"devices-{disk.key(version(), kind)}")
    database = folder / "rhi" / "data.mdb"
    if not database.is_file():
        return folder
    content = database.read_bytes()
    page = _HEADER.unpack_from(content)[0] if len(content) >= _HEADER.size else 0
    heads = [_HEADER.unpack_from(content, at) for at in (0, page) if len(content) >= at + _HEADER.size]
    if any(len(content) < size * (last + 1) for size, last in heads):
        shutil.rmtree(folder / "rhi")
    return folder


@cache
def shared_device(kind: str, index: int = 0) -> slangpy.Device:
    """One device of each kind and number for kernels that tracepack runs."""
    return create_device(kind, index=index)


_modules: dict[tuple[int, str], tuple[Any, Any]] = {}


def module_on(device: Any, source: Source) -> Any:
    """SlangPy's own module of a source on a device of the user's, one for each text.

    A source that imports files has a session of its own: in the device's, a file that was edited and loaded again would
    stay what it was, and two texts under one path are an error there.
    """
    key = (id(device), source.key)
    spy = import_slangpy()
    if device.info.type == spy.DeviceType.cpu:
        cpu_shaders()  # which a device reads when it first compiles a form of call, and may have been removed since
    if key not in _modules:
        allow_dispatches(device)
        session = _session_with_imports(device, source) if source.imports else device
        loaded = session.load_module_from_source(f"{source.name}_{source.key}", with_lines(source))
        _modules[key] = (device, spy.Module(loaded))  # with the device, so that its id is not reused
    return _modules[key][1]


def _session_with_imports(device: Any, source: Source) -> slangpy.SlangSession:
    folder = _imports(source)
    options = device.slang_session.desc.compiler_options
    options.include_paths = [folder, *options.include_paths]
    return device.create_slang_session(options, add_default_include_paths=True)


def _imports(source: Source) -> Path:
    folder = disk.folder("slang", "sources", source.key)
    source.write_imports(folder)
    return folder


_sessions: dict[tuple[str, int, str, tuple[Path, ...]], slangpy.SlangSession] = {}


def session_for(kind: str, index: int, source: Source) -> slangpy.SlangSession:
    """A compiler session in which a source finds its imports, and SlangPy's tensors are plain pointers."""
    # Made before each kernel, since the cache may have been removed after the last one.
    includes = [_imports(source)]
    includes += [tensor_module(one_thread=False, bounds=source.bounds)] if source.uses_slangpy else []
    key = (kind, index, source.key, tuple(includes))
    if key not in _sessions:
        _sessions[key] = _open_session(kind, index, includes)
    return _sessions[key]


def _open_session(kind: str, index: int, includes: list[Path]) -> slangpy.SlangSession:
    spy = import_slangpy()
    options = spy.SlangCompilerOptions()
    options.optimization = spy.SlangOptimizationLevel.maximal
    options.include_paths = includes
    if kind != "cuda":  # there SlangPy defines the macro
        options.defines = {"__TARGET_CUDA__": "1"}
    return shared_device(kind, index).create_slang_session(options, add_default_include_paths=False)
