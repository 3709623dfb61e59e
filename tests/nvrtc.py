"""NVIDIA's run-time compiler, which needs no card: it comes with the packages of the group `nvrtc`, or with torch."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest


def cubin_of(code: str) -> bytes:
    """CUDA text, compiled for compute capability 8.0.

    Raises:
        AssertionError: the compiler refused it; with its errors.
    """
    library, headers = _compiler()
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    assert library.nvrtcCreateProgram(ctypes.byref(program), code.encode(), b"kernel.cu", 0, None, None) == 0
    options = [
        b"--gpu-architecture=sm_80", b"--std=c++17", b"-default-device", b"-w", b"-DSLANG_CUDA_ENABLE_HALF=1",
        f"-I{headers}".encode(),
    ]  # fmt: skip
    failed = library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, log)
    assert not failed, [line for line in log.value.decode().splitlines() if "error" in line]
    library.nvrtcGetCUBINSize(program, ctypes.byref(size))
    cubin = ctypes.create_string_buffer(size.value)
    library.nvrtcGetCUBIN(program, cubin)
    return cubin.raw


@functools.cache
def _compiler() -> tuple[Any, Path]:
    found = importlib.util.find_spec("nvidia")
    folders = [Path(folder) for folder in (found.submodule_search_locations or [])] if found else []
    libraries = [path for folder in folders for path in folder.glob("**/libnvrtc*.so*") if "alt" not in path.name]
    headers = [path for folder in folders for path in folder.glob("**/include/cuda_fp16.h")]
    if not libraries or not headers:
        text = "NVIDIA's run-time compiler is not installed: pip install --group nvrtc"
        # On Linux `make test` installs it, and a run without it would pass without having compiled anything.
        (pytest.fail if sys.platform == "linux" else pytest.skip)(text)
    libraries.sort(key=lambda path: "builtins" not in path.name)
    return [ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL) for path in libraries][-1], headers[0].parent
