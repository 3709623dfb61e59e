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
from importlib import util
from pathlib import Path

from ..comprehension.expr.errors import CompilerError
from .cache import cache_folder
from .cpu import Target

FLAGS = (
    "-std=c++17", "-O3", "-fPIC", "-shared", "-fopenmp", "-fwrapv", "-fno-math-errno", "-fno-trapping-math",
    "-fno-signed-zeros", "-fno-tree-loop-if-convert", "-w",
)  # fmt: skip
"""Without if-conversion, since that of gcc 12 drops iterations of guarded sums when traps do not count."""
NOT_ZIG = ("-fopenmp", "-fno-tree-loop-if-convert")
"""What zig does not know; it gets OpenMP in its own way."""


def sanitizers() -> list[str]:
    """Flags for the sanitizers that the environment's TRACEPACK_SANITIZE names, as `address,undefined`.

    The process has to have loaded the address sanitizer's library before everything else: `make sanitize` does so.
    """
    named = os.environ.get("TRACEPACK_SANITIZE", "")
    if not named:
        return []
    if not set(named.split(",")) <= {"address", "undefined"}:
        raise CompilerError("TRACEPACK_SANITIZE names no sanitizers", got=named, expected="address,undefined")
    return [f"-fsanitize={named}", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-O1"]


@lru_cache(maxsize=1)
def compiler() -> str | None:
    """The path of the compiler: what the environment's CXX names, else g++, else zig of the package ziglang."""
    return shutil.which(os.environ.get("CXX", "") or "g++") or _zig()


def _zig() -> str | None:
    spec = util.find_spec("ziglang")
    return shutil.which(str(Path(spec.origin).parent / "zig")) if spec is not None and spec.origin else None


def is_zig(path: str) -> bool:
    """Whether a compiler is zig: it takes a subcommand, and its targets are spelled in another way."""
    return Path(path).name == "zig"


@lru_cache(maxsize=1)
def compiler_version() -> str:
    """The first line of the compiler's version, part of every cache key."""
    path = compiler()
    if path is None:
        return "none"
    asked = [path, "version"] if is_zig(path) else [path, "--version"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    return f"{'zig ' if is_zig(path) else ''}{done.stdout.splitlines()[0] if done.stdout else ''}"


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
    """Where compiled libraries are kept."""
    return cache_folder() / "comprehension"


def library_key(text: str, with_compiler: bool = True) -> str:
    """The name of a compiled text: of the source, the instruction set, the flags and the compiler."""
    parts = [text, target().name, " ".join([*FLAGS, *sanitizers()]), compiler_version() if with_compiler else ""]
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
        raise CompilerError("no C++ compiler was found", fix="Install g++ or the package ziglang, or set CXX.")
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        source, built = Path(folder) / "kernel.cpp", Path(folder) / "kernel.so"
        source.write_text(text)
        _run(_command(compiler() or "", source, built))
        os.replace(built, path)
    return path


def _command(path: str, source: Path, built: Path) -> list[str]:
    """What compiles a source to a shared library."""
    if is_zig(path):
        return _zig_command(path, source, built)
    return [path, *FLAGS, *sanitizers(), *_machine_flags(target().name), str(source), "-o", str(built), *_libraries()]


def _zig_command(path: str, source: Path, built: Path) -> list[str]:
    """`zig cc`, which builds no C++ library of its own first, against the libraries that torch has loaded."""
    machine, isa = target().name.rsplit("-", 1)
    cpu = {"avx512": "x86_64+avx2+fma+f16c+avx512f+avx512vl+avx512bw+avx512dq", "avx2": "x86_64+avx2+fma+f16c"}
    libc = platform.libc_ver()
    loaded = _loaded("libgomp"), _loaded("libstdc++"), _loaded("libm.so", "libmvec.so.1")
    return [
        path, "cc", *(f for f in FLAGS if f not in NOT_ZIG), "-ffp-contract=fast", "-nostdinc++", "-target",
        f"{machine}-linux-gnu.{libc[1]}" if libc[0] == "glibc" else f"{machine}-linux-musl",
        *([f"-mcpu={cpu[isa]}"] if isa in cpu else []), *(["-mprefer-vector-width=512"] if isa == "avx512" else []),
        *(["-Xclang", "-fopenmp"] if loaded[0] else []), *([] if loaded[2] else ["-DNO_MVEC"]),
        str(source), "-o", str(built), *(each for each in loaded if each), "-lm",
    ]  # fmt: skip


def _loaded(name: str, beside: str = "") -> str:
    """The path of a library of this process, or of one beside it; empty where there is none."""
    import torch  # noqa: F401 - brings the libraries

    try:
        text = Path("/proc/self/maps").read_text()
    except OSError:
        return ""
    paths = {Path(line.split()[-1]) for line in text.splitlines() if "/" in line}
    found = sorted(p.with_name(beside or p.name) for p in paths if p.name.startswith(name))
    return next((str(p) for p in found if p.exists()), "")


def _libraries() -> list[str]:
    """Torch's own OpenMP library first, so that `-fopenmp` finds its symbols there."""
    import torch

    beside = sorted((Path(torch.__file__).parent / "lib").glob("libgomp*.so*"))
    beside += sorted((Path(torch.__file__).parent.parent / "torch.libs").glob("libgomp*.so*"))
    math = ["-lmvec"] if platform.machine() == "x86_64" and platform.libc_ver()[0] == "glibc" else []
    return [*(str(p) for p in beside[:1]), *math, "-lm"]


def _run(command: list[str]) -> None:
    alone = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"} if sanitizers() else None
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=alone)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
        raise CompilerError("the compiler refused generated code", got=lines[0][:300] if lines else done.returncode)


def load_library(path: Path) -> ctypes.CDLL:
    """Loads a compiled library; calls release the interpreter's lock."""
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise CompilerError("a compiled library cannot be loaded", got=error) from error
