"""The machine's C++ compiler: g++ or clang++, else the `zig c++` of the PyPI package ziglang.

`CXX` chooses one. The flags ask for vector code: the loops that we generate are what a compiler vectorises best,
and glibc's vector mathematics (`libmvec`, within 4 units in the last place) makes `exp` or `sin` as fast as torch's.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from importlib import metadata, util
from pathlib import Path

from ..slang.language.errors import CompilerNotFoundError, SlangCompileError
from . import cache_files as disk
from .cache import cache_folder

_COMMON = ("-x", "c++", "-std=c++17", "-O3", "-fPIC", "-shared", "-w", "-fno-math-errno", "-fno-trapping-math")
_GCC = ("-march=native", "-mprefer-vector-width=512", "--param=vect-max-version-for-alias-checks=200")


@dataclass(frozen=True)
class Toolchain:
    """A C++ compiler that makes a shared library out of one file.

    Attributes:
        name: `gcc`, `clang` or `zig`.
        command: what starts it.
        identity: changes whenever the compiler does; part of every cache key.
        flags: for the fastest code on this machine.
        libraries: to link, after the source.
    """

    name: str
    command: tuple[str, ...]
    identity: str
    flags: tuple[str, ...]
    libraries: tuple[str, ...] = ("-lm",)

    def compile(self, code: str, target: Path) -> None:
        """Compiles C++ code to a shared library, put in place at once.

        Raises:
            SlangCompileError: the compiler refused the generated code.
        """
        with tempfile.TemporaryDirectory(dir=target.parent) as directory:
            source, output = Path(directory, "kernel.cpp"), Path(directory, "kernel.so")
            source.write_text(code, encoding="utf-8")
            arguments = [*self.command, *self.flags, "-o", str(output), str(source), *self.libraries]
            self.announce()
            done = subprocess.run(arguments, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SlangCompileError(
                    f"the C++ compiler {self.name} refused the generated kernel: {_first_line(done.stderr)}",
                    log=done.stderr,
                    fix="Its full message is in `.log`; CXX chooses another compiler.",
                )
            output.replace(target)

    def announce(self) -> None:
        """Has zig build its C++ library, and says so: its very first compile takes over a minute."""
        marker = disk.folder("zig") / "ready"
        if self.name != "zig" or marker.exists():
            return
        print(
            "tracepack: no g++ or clang++ here, so zig builds its C++ library first; this once takes a minute or two",
            file=sys.stderr,
            flush=True,
        )
        with tempfile.TemporaryDirectory() as directory:
            source, output = Path(directory, "warm.cpp"), Path(directory, "warm.so")
            source.write_text("#include <cmath>\n", encoding="utf-8")
            _run_with_progress([*self.command, *self.flags, "-o", str(output), str(source)])
        disk.write(marker, b"")


_AS_GXX = """#!/bin/sh
case "$1" in -v|--version) echo 'gcc version 12.2.0 (zig)' >&2; exit 0 ;; esac
exec {command} "$@"
"""


def put_on_path() -> None:
    """Lets Slang's own CPU device find a compiler: it knows g++ and clang++ by name only, so zig goes by g++ there.

    Raises:
        CompilerNotFoundError: there is none.
    """
    toolchain = find_toolchain()
    if toolchain.name != "zig":
        return
    toolchain.announce()
    script = disk.folder("zig", "bin") / "g++"
    target = toolchain.flags[toolchain.flags.index("-march=native") :]  # one build of its library serves all
    disk.write(script, _AS_GXX.format(command=shlex.join((*toolchain.command, *target))).encode())
    script.chmod(0o755)
    folder, path = str(script.parent), os.environ.get("PATH", "")
    if folder not in path.split(os.pathsep):
        os.environ["PATH"] = f"{folder}{os.pathsep}{path}"


def _run_with_progress(arguments: list[str]) -> None:
    """Runs a command, with a dot on stderr for each 5 seconds that it takes."""
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while True:
            try:
                process.wait(timeout=5)
                break
            except subprocess.TimeoutExpired:
                print(".", end="", file=sys.stderr, flush=True)
    print(" done", file=sys.stderr, flush=True)


def _first_line(text: str) -> str:
    errors = [line for line in text.splitlines() if "error" in line] or text.splitlines()
    return errors[0].strip() if errors else "no message"


@cache
def find_toolchain() -> Toolchain:
    """The compiler of this machine, in the order `CXX`, g++, clang++, ziglang.

    Raises:
        CompilerNotFoundError: there is none.
    """
    chosen = os.environ.get("CXX")
    own = str(cache_folder().joinpath("slang", "zig"))  # of `put_on_path`
    for name in (chosen, "g++", "clang++", "c++"):
        path = shutil.which(name) if name else None
        if path and not path.startswith(own):
            return _system_compiler(path)
    if util.find_spec("ziglang") is not None:
        return _zig()
    raise CompilerNotFoundError(
        "no C++ compiler on this machine, and Slang's CPU kernels need one",
        where="tracepack.slang",
        fix="Install g++ or clang++, or the package that replaces them: pip install ziglang. "
        "With a Vulkan driver, tracepack.slang.load(..., device='vulkan') needs none of them.",
    )


def _system_compiler(path: str) -> Toolchain:
    """Told by the file's size and time, not by running it: a warm start has no 5 ms for `--version`."""
    real = Path(path).resolve()
    status = real.stat()
    identity = f"{real.name} {status.st_size} {status.st_mtime_ns}"
    if "clang" in real.name:
        return Toolchain("clang", (path,), identity, (*_COMMON, "-march=native"))
    libraries = ("-lmvec", "-lm") if _has_libmvec() else ("-lm",)
    vector = ("-D__FAST_MATH__=1", "-fdisable-tree-sincos") if _has_libmvec() else ()
    return Toolchain("gcc", (path,), identity, (*_COMMON, *_GCC, *vector), libraries)


def _zig() -> Toolchain:
    flags = (*_COMMON, "-march=native", "-target", f"{platform.machine()}-linux-gnu.2.17")
    return Toolchain("zig", (sys.executable, "-m", "ziglang", "c++"), metadata.version("ziglang"), flags)


def _has_libmvec() -> bool:
    library, version = platform.libc_ver()
    return library == "glibc" and platform.machine() == "x86_64" and tuple(map(int, version.split("."))) >= (2, 22)
