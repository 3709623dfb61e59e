"""Precompiled headers: the text with which all kernels of a family begin is parsed once, and not for each kernel.

Parsing it is two thirds of the time that g++ takes for a small kernel: .28 s of processor time with it, .09 s without.
A header's key is its text, the compiler, the flags, the processor and where the system's headers are found, so a header
that changes is another one. The compiler itself refuses a precompiled header of another release or of other flags, and
reads the text then. Clang and zig ask for other flags; with them each kernel parses its own head.
"""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from . import cache as disk
from .cpu import processor

_SEARCHED = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH")
"""Variables that add folders in which GCC looks for headers."""


def precompiled(head: str, identity: str, flags: Sequence[str], run: Callable[[Sequence[str]], bool]) -> Path | None:
    """The header of a text, with its precompiled form beside it, or None where the text has to be parsed.

    The first kernel of a family parses the text, since making the precompiled form costs as much as two kernels; the
    second one makes it.

    Args:
        head: the text.
        identity: the compiler's.
        flags: those with which kernels are compiled.
        run: starts the compiler with arguments, and says whether it succeeded.
    """
    system = (platform.libc_ver(), [os.environ.get(name) for name in _SEARCHED])
    path = disk.folder("headers") / f"{disk.key(head, identity, flags, processor(), system)}.h"
    if disk.holds(_compiled(path)) and disk.holds(path):
        return path
    if not disk.holds(path):
        disk.write_kept(path, head.encode())
        return None
    return path if not _refused(path).exists() and _make(path, flags, run) else None


def refuse(header: Path) -> None:
    """Notes that a precompiled header does not serve: kernels parse the text from now on."""
    disk.write(_refused(header), b"")
    with disk.writing(header.parent):
        _compiled(header).unlink(missing_ok=True)


def _make(path: Path, flags: Sequence[str], run: Callable[[Sequence[str]], bool]) -> bool:
    with disk.writing(path.parent), tempfile.TemporaryDirectory(dir=path.parent) as directory:
        output = Path(directory, "header.gch")
        made = run([*flags, "-x", "c++-header", "-o", str(output), str(path)]) and output.exists()
        if not made or output.read_bytes()[:4] != b"gpch":
            refuse(path)
            return False
        disk.keep(output, _compiled(path))
    return True


def _compiled(header: Path) -> Path:
    """The name that GCC looks for."""
    return header.with_name(f"{header.name}.gch")


def _refused(header: Path) -> Path:
    return header.with_suffix(".refused")
