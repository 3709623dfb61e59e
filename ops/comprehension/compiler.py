"""The machine's C++ compiler: finding it, what it compiles for, and the cache of what it compiled.

Libraries link against the OpenMP library that torch has loaded, so that they share its threads and obey
`torch.set_num_threads`. The flags leave denormals and NaN alone: `-ffast-math` in a shared library would turn
denormals off for the thread that loads it.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import re
import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

from .errors import CompilerError
from .target import Target

FLAGS = (
    "-std=c++17", "-O3", "-fPIC", "-shared", "-fopenmp", "-fwrapv", "-fno-math-errno", "-fno-trapping-math",
    "-fno-signed-zeros", "-w",
)  # fmt: skip


@lru_cache(maxsize=1)
def compiler() -> str | None:
    """The path of the compiler: what the environment's CXX names, else g++; None where there is none."""
    return shutil.which(os.environ.get("CXX", "") or "g++")


@lru_cache(maxsize=1)
def compiler_version() -> str:
    """The first line of the compiler's version, part of every cache key."""
    path = compiler()
    if path is None:
        return "none"
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    return done.stdout.split("\n", 1)[0]


@lru_cache(maxsize=1)
def target() -> Target:
    """The instruction set of this machine, tagged so that a foreign artifact is never loaded."""
    machine = platform.machine().lower()
    flags = _cpu_flags()
    if {"avx512f", "avx512vl", "avx512bw", "avx512dq"} <= flags:
        return Target(f"{machine}-avx512", 64, 32, _is_zen4())
    if {"avx2", "fma"} <= flags:
        return Target(f"{machine}-avx2", 32, 16)
    return Target(f"{machine}-base", 16, 32 if machine == "aarch64" else 16)


def _cpu_flags() -> set[str]:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return set()
    return {word for line in text.splitlines() if line.startswith(("flags", "Features")) for word in line.split()}


def _is_zen4() -> bool:
    """AMD's family 25: the first with AVX-512, on units of 256 bits."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return False
    return "AuthenticAMD" in text and re.search(r"^cpu family\s*: 25$", text, re.MULTILINE) is not None


def _machine_flags(tag: str) -> list[str]:
    """Only what the tag promises, so that an artifact runs wherever the tag matches."""
    isa = tag.rsplit("-", 1)[1]
    if isa == "avx512":
        return [
            "-mavx512f",
            "-mavx512vl",
            "-mavx512bw",
            "-mavx512dq",
            "-mfma",
            "-mf16c",
            "-mavx2",
            "-mprefer-vector-width=512",
        ]
    return ["-mavx2", "-mfma", "-mf16c"] if isa == "avx2" else []


def cache_directory() -> Path:
    """Where compiled libraries are kept: `$TRACEPACK_CACHE`, else the user's cache directory."""
    given = os.environ.get("TRACEPACK_CACHE")
    root = Path(given) if given else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tracepack"
    return root / "comprehension"


def library_key(text: str, with_compiler: bool = True) -> str:
    """The name of a compiled text: of the source, the instruction set, the flags and the compiler."""
    parts = [text, target().name, " ".join(FLAGS), compiler_version() if with_compiler else ""]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def compile_library(text: str) -> Path:
    """Compiles a text to a shared library, once.

    Raises:
        CompilerError: there is no compiler, or it refused the text.
    """
    path = cache_directory() / f"{library_key(text)}.so"
    if path.exists():
        return path
    if compiler() is None:
        raise CompilerError("no C++ compiler was found", fix="Install g++, or set CXX.")
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        source, built = Path(folder) / "kernel.cpp", Path(folder) / "kernel.so"
        source.write_text(text)
        _run(
            [
                compiler() or "",
                *FLAGS,
                *_machine_flags(target().name),
                str(source),
                "-o",
                str(built),
                *_libraries(),
            ]
        )
        os.replace(built, path)
    return path


def _libraries() -> list[str]:
    """Torch's own OpenMP library first, so that `-fopenmp` finds its symbols there."""
    import torch

    beside = sorted((Path(torch.__file__).parent / "lib").glob("libgomp*.so*"))
    beside += sorted((Path(torch.__file__).parent.parent / "torch.libs").glob("libgomp*.so*"))
    math = ["-lmvec"] if platform.machine() == "x86_64" and platform.libc_ver()[0] == "glibc" else []
    return [*(str(p) for p in beside[:1]), *math, "-lm"]


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
        raise CompilerError("the compiler refused generated code", got=lines[0][:300] if lines else done.returncode)


def load_library(path: Path) -> ctypes.CDLL:
    """Loads a compiled library; calls release the interpreter's lock."""
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise CompilerError("a compiled library cannot be loaded", got=error) from error
