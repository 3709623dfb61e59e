"""Shared libraries of the C++ that Slang writes, compiled once for each key.

The flags ask for vector code: the loops that we generate are what a compiler vectorises best, and glibc's vector
mathematics (`libmvec`, within 4 units in the last place) makes `exp` or `sin` as fast as torch's.
"""

from __future__ import annotations

import platform
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from math import prod
from pathlib import Path

from ...kernels import cache as disk
from ...kernels.cpu import processor
from ...kernels.toolchain import (
    STANDARD,
    NoToolchainError,
    Toolchain,
    ToolchainError,
    compiler_environment,
    find_toolchain,
    sanitizers,
)
from ..language.errors import CompilerNotFoundError, SlangCompileError
from .client import ask
from .cpp.finish import CHANGES, finish_code
from .slangc import arguments_for, version

# Whole numbers of Slang wrap; without -fwrapv a compiler takes x + 1 > x for true.
_COMMON = (STANDARD, "-O3", "-fPIC", "-shared", "-w", "-fwrapv", "-fno-math-errno", "-fno-trapping-math")
PASSES_OFF = (
    "-fno-gcse-after-reload", "-fno-ipa-cp-clone", "-fno-loop-interchange", "-fno-loop-unroll-and-jam",
    "-fno-predictive-commoning", "-fno-split-loops", "-fno-split-paths", "-fno-tree-loop-distribution",
    "-fno-tree-partial-pre", "-fno-unswitch-loops",
)  # fmt: skip
"""What GCC's -O3 adds to -O2 and the kernels do not need; it takes as long without (.95 to 1.01, 21 kernels).

They need the loops over elements as vectors (without -ftree-loop-if-convert, which comprehensions leave out, choices
take 8 times as long) and short inner loops written out before that, which no flag but -O3 asks for: under -O2, with
the other passes named, a loop of 6 rounds takes 6 times as long.
"""
_NATIVE = "-march=native"
_GCC = (_NATIVE, "-mprefer-vector-width=512", "--param=vect-max-version-for-alias-checks=200", *PASSES_OFF)

_ARRAY = re.compile(r"^\s*((?:FixedArray<\s*)+)([\w<>, ]*?)\s*((?:,\s*\d+\s*>\s*)+)\s*\w+;", re.MULTILINE)
_BYTES = {"double": 8, "int64_t": 8, "uint64_t": 8, "half": 2, "bool": 1}
_STACK = 2 << 20
"""Bytes in all arrays of a kernel: the compiler may hold some of them twice, and a thread has 8 MB of stack."""


def native_library(parts: Sequence[object], entry: str, code: Callable[[], str], bounds: bool = True) -> Path:
    """The shared library of an entry, from the disk, or compiled now.

    Args:
        parts: everything that the code depends on, for the key.
        entry: the name of the entry point, which becomes `tracepack_run`.
        code: makes the C++ that Slang writes.
        bounds: whether the indices into vectors and matrices are checked.

    Raises:
        SlangCompileError: the C++ compiler refused it.
        CompilerNotFoundError: the machine has no C++ compiler that works.
        CacheFolderError: the library cannot be kept.
    """
    toolchain = slang_toolchain()
    flags, libraries = flags_for(toolchain)
    key = disk.key(*parts, version(), CHANGES, toolchain.identity, flags, processor())
    path = disk.place("slang", "kernels", f"{key}.so")
    if not disk.holds(path):
        head, text = finish_code(code(), entry, bounds)
        prepare(toolchain)
        try:
            toolchain.compile(text, path, flags, libraries, head)
        except NoToolchainError as error:
            raise _not_found(error) from None
        except ToolchainError as error:
            raise SlangCompileError(error.what, log=error.log, fix=error.fix) from None
    return path


def whole_library(text: str, entry: str) -> Path:
    """The shared library of a text for `NativeEntry`, compiled once.

    Raises:
        SlangCompileError: Slang or the C++ compiler refused it.
        CompilerNotFoundError: the machine has no C++ compiler.
    """
    return native_library((text, entry), entry, lambda: translated(text, entry, "cpp"))


def translated(text: str, entry: str, target: str) -> str:
    """The code that Slang generates for one entry of a text and a target, `cpp` or `cuda`.

    Raises:
        SlangCompileError: Slang refused it.
    """
    unit = disk.folder("slang", "sources", "generated") / f"{disk.key(text)}.slang"
    disk.write(unit, text.encode())
    found: str = ask(arguments=arguments_for(unit, [], entry=entry, target=target), do="code")["code"]
    return found


def _arrays(code: str) -> Iterator[int]:
    for match in _ARRAY.finditer(code):
        counts = [int(count) for count in re.findall(r"\d+", match[3])]
        yield prod(counts) * _BYTES.get(match[2].rpartition("<")[2].strip(), 4)


def check_stack(code: str, where: str, *, backward: bool) -> None:
    """Refuses C++ whose arrays would not fit on a thread's stack, which would end the process.

    Raises:
        SlangCompileError: they would not.
    """
    total = sum(_arrays(code))
    if total > _STACK:
        what = f"the gradient of {where}" if backward else where
        raise SlangCompileError(
            f"{what} would keep {total >> 10} KB on the stack, and {_STACK >> 10} KB fit",
            fix="Write [MaxIters(n)] before each loop, nested ones too, with n the most rounds that it runs."
            if backward
            else "Take smaller arrays, or a whole tensor in their place.",
        )


def slang_toolchain() -> Toolchain:
    """The machine's compiler.

    Raises:
        CompilerNotFoundError: there is none.
    """
    try:
        return find_toolchain()
    except NoToolchainError as error:
        raise _not_found(error) from None


def _not_found(error: NoToolchainError) -> CompilerNotFoundError:
    return CompilerNotFoundError(
        f"{error.what}, and Slang's CPU kernels need one",
        where="tracepack.slang",
        fix=f"{error.fix} With a Vulkan driver, tracepack.slang.load(..., device='vulkan') needs none of them.",
    )


def flags_for(toolchain: Toolchain) -> tuple[list[str], list[str]]:
    """The flags for the fastest code on this machine, and the libraries to link."""
    if toolchain.family == "zig":
        return ["c++", *_COMMON, *_zig_target()], ["-lm"]
    if toolchain.family == "clang":
        return [*_COMMON, _NATIVE], ["-lm"]
    checks = sanitizers()
    if not _has_libmvec():
        return [*_COMMON, *_GCC, *checks], ["-lm"]
    return [*_COMMON, *_GCC, *checks, "-D__FAST_MATH__=1", "-fdisable-tree-sincos"], ["-lmvec", "-lm"]


def _zig_target() -> tuple[str, ...]:
    return (_NATIVE, "-target", f"{platform.machine()}-linux-gnu.2.17")


def _has_libmvec() -> bool:
    library, release = platform.libc_ver()
    return library == "glibc" and platform.machine() == "x86_64" and tuple(map(int, release.split("."))) >= (2, 22)


def prepare(toolchain: Toolchain) -> None:
    """Has zig build its C++ library, and says so: its very first compile takes over a minute."""
    if toolchain.family != "zig":
        return
    folder = disk.folder("slang", "zig")
    marker = folder / "ready"
    if marker.exists():
        return
    print(
        "tracepack: no g++ or clang++ here, so zig builds its C++ library first; this once takes a minute or two",
        file=sys.stderr,
        flush=True,
    )
    with disk.writing(folder), tempfile.TemporaryDirectory(dir=folder) as directory:
        source, output = Path(directory, "warm.cpp"), Path(directory, "warm.so")
        source.write_text("#include <cmath>\n", encoding="utf-8")
        command = [*toolchain.command, *flags_for(toolchain)[0], "-o", str(output), str(source)]
        with suppress(OSError):  # the kernel's own compile meets it, too, and says so
            _run_with_progress(command, compiler_environment())
    disk.write(marker, b"")


def _run_with_progress(arguments: list[str], environment: dict[str, str]) -> None:
    """Runs a command, with a dot on stderr for each 5 seconds that it takes."""
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment) as process:
        while True:
            try:
                process.wait(timeout=5)
                break
            except subprocess.TimeoutExpired:
                print(".", end="", file=sys.stderr, flush=True)
    print(" done", file=sys.stderr, flush=True)


_AS_GXX = """#!/bin/sh
case "$1" in -v|--version) echo 'gcc version 12.2.0 (zig)' >&2; exit 0 ;; esac
exec {command} "$@"
"""


def zig_as_gxx(toolchain: Toolchain) -> Path:
    """The folder of a script `g++` that runs zig, for SlangPy's own CPU device: it knows compilers by name only."""
    prepare(toolchain)
    script = disk.folder("slang", "zig", "bin") / "g++"
    # The target is the same as ours, so that one build of zig's C++ library serves both.
    disk.write(script, _AS_GXX.format(command=shlex.join((*toolchain.command, "c++", *_zig_target()))).encode())
    script.chmod(0o700)
    return script.parent
