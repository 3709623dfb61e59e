"""Shared libraries of generated C++, compiled once for each text, instruction set and compiler.

Libraries link against the OpenMP library that torch has loaded, so that they share its threads and obey
`torch.set_num_threads`. The flags leave denormals and NaN alone: `-ffast-math` in a shared library would turn
denormals off for the thread that loads it.
"""

from __future__ import annotations

import _ctypes
import ctypes
import hashlib
import platform
import weakref
from pathlib import Path

from ...kernels import cache as disk
from ...kernels.cpu import target
from ...kernels.toolchain import (
    STANDARD,
    NoToolchainError,
    Toolchain,
    ToolchainError,
    find_toolchain,
    open_library,
    sanitizers,
)
from ..expr.errors import CompilerError, NoCompilerError
from .prelude import prelude

FLAGS = (STANDARD, "-fPIC", "-shared", "-fwrapv", "-fno-math-errno", "-fno-trapping-math", "-w")
"""What the code means, and how it is linked; the same for every compiler.

Zeros keep their signs: where they need not, gcc 12 takes a product of vectors with zero for zero, NaN or not.
"""
PASSES = (
    "-O2", "-ftree-slp-vectorize", "-fvect-cost-model=dynamic", "-fpeel-loops",
    "-fno-tree-loop-vectorize", "-fno-tree-loop-if-convert",
)  # fmt: skip
"""What of GCC's -O3 the kernels need: code for lanes becomes code for vectors, and short loops are written out.

Vectors are in the text already, so no loop is made one; that pass would convert conditions first, and gcc 12's
conversion drops iterations of guarded sums when traps do not count. Over the layers of the benchmarks and their
gradients, in turns on a busy machine, kernels take .38 to 1.11 of the time with all of -O3, the median .99.
"""
_CLANG = ("-O3", "-ffp-contract=fast")
"""Clang has no flags that name its passes."""


def library_key(text: str, identity: str = "") -> str:
    """The name of a compiled text: of the source, the instruction set, the flags, and the compiler if it is given."""
    flags = " ".join([*FLAGS, *PASSES, *sanitizers()])
    return hashlib.sha256("\0".join([text, target().name, flags, identity]).encode()).hexdigest()[:32]


def compile_library(text: str) -> Path:
    """Compiles a text to a shared library, once.

    Raises:
        NoCompilerError: there is no compiler that works, or its library cannot be kept.
        CompilerError: the compiler refused the text.
    """
    try:
        toolchain = find_toolchain()
        path = disk.place("comprehension", f"{library_key(text, toolchain.identity)}.so")
        if not disk.holds(path):
            flags, libraries = _arguments(toolchain)
            head = prelude() if text.startswith(prelude()) else ""
            toolchain.compile(text.removeprefix(head), path, flags, libraries, head)
    except (NoToolchainError, disk.CacheFolderError) as error:
        raise NoCompilerError(error.what, fix=error.fix) from None
    except ToolchainError as error:
        raise CompilerError(error.what, fix=error.fix) from error
    return path


def _arguments(toolchain: Toolchain) -> tuple[list[str], list[str]]:
    """The flags and the libraries of a compiler."""
    if toolchain.family == "gcc":
        return [*FLAGS, *PASSES, "-fopenmp", *sanitizers(), *_machine_flags(target().name)], _libraries()
    # Clang writes calls of LLVM's OpenMP, which `clang.h` serves by the GNU library that torch has loaded.
    openmp, standard, vectors = _loaded("libgomp"), _loaded("libstdc++"), _loaded("libm.so", "libmvec.so.1")
    flags = [*FLAGS, *_CLANG]
    flags += ["-Xclang", "-fopenmp"] if openmp else []
    flags += [] if vectors else ["-DNO_MVEC"]
    libraries = [*filter(None, (openmp, standard, vectors)), "-lm"]
    if toolchain.family == "zig":
        return [*_zig_flags(), *flags], libraries
    return [*_machine_flags(target().name), *flags], libraries


def _zig_flags() -> list[str]:
    """`zig cc`, which builds no C++ library of its own first; the libraries are those that torch has loaded."""
    machine, isa = target().name.rsplit("-", 1)
    cpu = {"avx512": "x86_64+avx2+fma+f16c+avx512f+avx512vl+avx512bw+avx512dq", "avx2": "x86_64+avx2+fma+f16c"}
    libc = platform.libc_ver()
    system = f"{machine}-linux-gnu.{libc[1]}" if libc[0] == "glibc" else f"{machine}-linux-musl"
    flags = ["cc", "-nostdinc++", "-target", system, *([f"-mcpu={cpu[isa]}"] if isa in cpu else [])]
    return [*flags, *(["-mprefer-vector-width=512"] if isa == "avx512" else [])]


def _machine_flags(tag: str) -> list[str]:
    """Only what the tag promises, so that an artifact runs wherever the tag matches."""
    isa = tag.rsplit("-", 1)[1]
    wide = "-mavx512f -mavx512vl -mavx512bw -mavx512dq -mfma -mf16c -mavx2 -mprefer-vector-width=512"
    return {"avx512": wide, "avx2": "-mavx2 -mfma -mf16c"}.get(isa, "").split()


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


def load_library(path: Path) -> ctypes.CDLL:
    """Loads a compiled library, for as long as it or a function of it is used; calls release the interpreter's lock.

    Raises:
        NoCompilerError: the system refuses it.
    """
    try:
        library = open_library(path)
    except ToolchainError as error:
        raise NoCompilerError(error.what, fix=error.fix) from error
    weakref.finalize(library, _ctypes.dlclose, library._handle).atexit = False  # ctypes itself keeps it for ever
    return library
