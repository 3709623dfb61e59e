"""The machine's C++ compiler, the same one for every family of kernels: `CXX`, g++, clang++, c++, zig, in this order.

Each family brings the flags that its code needs. The process's PATH is read and never changed.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import util
from pathlib import Path
from typing import Literal

from ..graph.errors import TracepackError
from .cache import cache_folder, keep, writing
from .headers import precompiled, refuse

Family = Literal["gcc", "clang", "zig"]

STANDARD = "-std=c++14"
"""Of generated code. From C++17 on, <cmath> defines special functions that take half of the compiler's time; compilers
know `if constexpr` in C++14 as well."""


class ToolchainError(TracepackError):
    """A C++ compiler refused generated code.

    Attributes:
        log: the whole output of the compiler.
    """

    def __init__(self, what: str, *, log: str = "", fix: str = "") -> None:
        super().__init__(what, fix=fix)
        self.log = log


class NoToolchainError(ToolchainError):
    """The machine has no C++ compiler, or one that cannot work here."""


_OUTSIDE = (os.strerror(errno.ENOSPC), os.strerror(errno.EDQUOT), os.strerror(errno.EFBIG), "signal terminated program")
"""What a compiler says that was ended, or could not write, whatever the code."""


@dataclass(frozen=True)
class Toolchain:
    """A C++ compiler that makes a shared library out of one file.

    Attributes:
        family: the compiler whose flags it takes; zig takes clang's, after a subcommand.
        command: the command that starts it.
        identity: a text that changes with the compiler; part of every cache key.
    """

    family: Family
    command: tuple[str, ...]
    identity: str

    @cached_property
    def version(self) -> str:
        """The first line of its `--version`, which is the same on machines with the same release."""
        is_zig = self.family == "zig"
        done = subprocess.run(
            [*self.command, "version" if is_zig else "--version"], capture_output=True, text=True, check=False
        )
        return f"{'zig ' if is_zig else ''}{done.stdout.splitlines()[0] if done.stdout else ''}"

    def compile(
        self, code: str, target: Path, flags: Sequence[str], libraries: Sequence[str] = (), head: str = ""
    ) -> None:
        """Compiles C++ code to a shared library, put in place at once, with the digest by which the cache knows it.

        Args:
            code: the text of one file.
            target: the path of the library.
            flags: arguments before the source.
            libraries: arguments after the source.
            head: a text before the code that many libraries share; g++ may parse it once for all of them.

        Raises:
            ToolchainError: the compiler refused the code.
            NoToolchainError: it cannot compile anything here.
            CacheFolderError: the library cannot be written.
        """
        header = self._header(head, flags)
        with writing(target.parent), tempfile.TemporaryDirectory(dir=target.parent) as directory:
            source, output = Path(directory, "kernel.cpp"), Path(directory, "kernel.so")

            def attempt(text: str, *more: str) -> subprocess.CompletedProcess[str]:
                source.write_text(text, encoding="utf-8")
                return self._run([*flags, *more, "-o", str(output), str(source), *libraries])

            done = attempt(code, "-include", str(header)) if header else attempt(head + code)
            if header and done.returncode:
                done = attempt(head + code)
                if not done.returncode:
                    refuse(header)
            if done.returncode:
                said = done.stderr.replace(f"{directory}{os.sep}", "")
                if any(reason in said for reason in _OUTSIDE) or attempt("").returncode:
                    raise self._useless(said)
                raise ToolchainError(
                    f"the C++ compiler {self.command[0]} refused generated code: {_first_error(said)}",
                    log=said,
                    fix="Its full message is in `.log`; the variable CXX chooses another compiler.",
                )
            keep(output, target)

    def _header(self, head: str, flags: Sequence[str]) -> Path | None:
        if not head or self.family != "gcc":
            return None
        return precompiled(head, self.identity, flags, lambda arguments: not self._run(arguments).returncode)

    def _run(self, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                [*self.command, *arguments],
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                check=False,
                env=compiler_environment(),
            )
        except OSError as error:
            raise self._useless(str(error)) from None

    def _useless(self, said: str) -> NoToolchainError:
        return NoToolchainError(
            f"the C++ compiler {self.command[0]} cannot work here: {_first_error(said)}",
            log=said,
            fix="Does it compile an empty file? Is there space on the disk? The variable CXX chooses another compiler.",
        )


def compiler_environment() -> dict[str, str]:
    """The environment of a compiler: without the sanitizer that this process loads, and with a place for its files.

    Raises:
        CacheFolderError: there is no place.
    """
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    try:
        tempfile.gettempdir()
    except FileNotFoundError:  # the compiler would find none either
        environment["TMPDIR"] = str(cache_folder())
    return environment


def sanitizers() -> list[str]:
    """Flags for the sanitizers that the environment's TRACEPACK_SANITIZE names, as `address,undefined`.

    The process has to have loaded the address sanitizer's library before everything else: `make sanitize` does so.

    Raises:
        ToolchainError: it names something else.
    """
    named = os.environ.get("TRACEPACK_SANITIZE", "")
    if not named:
        return []
    if not set(named.split(",")) <= {"address", "undefined"}:
        raise ToolchainError(f"TRACEPACK_SANITIZE names no sanitizers: {named}", fix="Write address,undefined.")
    # Without any pass, which could take away what a sanitizer looks for; they compile in a sixth of the time, too.
    return [f"-fsanitize={named}", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-O0"]


def open_library(path: Path) -> ctypes.CDLL:
    """Loads a compiled library; its calls release the interpreter's lock.

    Raises:
        ToolchainError: the system refuses it.
    """
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise ToolchainError(
            f"a compiled library cannot be loaded: {error}",
            fix="May code run from that folder? Set TRACEPACK_CACHE to another folder of yours.",
        ) from error


def _first_error(text: str) -> str:
    lines = [line for line in text.splitlines() if "error" in line] or text.splitlines()
    return lines[0].strip()[:300] if lines else "no message"


@cache
def find_toolchain() -> Toolchain:
    """The compiler of this machine; a process searches for it once.

    Raises:
        NoToolchainError: there is none.
    """
    for words in (shlex.split(os.environ.get("CXX", "")), ["g++"], ["clang++"], ["c++"], ["zig"]):
        path = shutil.which(words[0]) if words else None
        if path:
            return _toolchain((path, *words[1:]))
    packaged = _packaged_zig()
    if packaged is not None:
        return _toolchain((packaged,))
    raise NoToolchainError(
        "no C++ compiler was found on this machine",
        fix="Install g++ or clang++, or the package that replaces them (pip install ziglang), or set CXX.",
    )


def has_toolchain() -> bool:
    """Whether there is a compiler."""
    try:
        return find_toolchain() is not None
    except NoToolchainError:
        return False


def compiler_version() -> str:
    """The version of the compiler, for the key of tuned options; "none" where there is no compiler."""
    return find_toolchain().version if has_toolchain() else "none"


def _toolchain(command: tuple[str, ...]) -> Toolchain:
    """A compiler with an identity from the size and time of its file: `--version` would cost a warm start 5 ms."""
    words = [Path(word).resolve() if shutil.which(word) else Path(word) for word in command]
    names = " ".join(word.name for word in words)
    family: Family = "clang" if "clang" in names else "zig" if words[-1].name.startswith("zig") else "gcc"
    status = words[0].stat()
    return Toolchain(family, command, f"{names} {status.st_size} {status.st_mtime_ns}")


def _packaged_zig() -> str | None:
    """The zig of the package ziglang, found without importing it."""
    spec = util.find_spec("ziglang")
    return shutil.which(str(Path(spec.origin).parent / "zig")) if spec is not None and spec.origin else None
