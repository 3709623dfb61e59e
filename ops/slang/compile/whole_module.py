"""Modules that are generated as a whole, with no user's function in them: comprehensions are compiled so."""

from __future__ import annotations

from pathlib import Path

from ...kernels import cache_files as disk
from ...kernels.toolchain import find_toolchain
from .client import ask
from .native_entry import finish_code
from .slangc import arguments_for, version


def native_library(text: str, entry: str) -> Path:
    """The shared library of a text for `NativeEntry`, compiled once.

    Raises:
        SlangCompileError: Slang or the C++ compiler refused it.
        CompilerNotFoundError: the machine has no C++ compiler.
    """
    toolchain = find_toolchain()
    key = disk.key(text, entry, version(), toolchain.identity, toolchain.flags, disk.processor())
    library = disk.folder("kernels") / f"{key}.so"
    if not library.exists():
        toolchain.compile(finish_code(translated(text, entry, "cpp"), entry), library)
    return library


def translated(text: str, entry: str, target: str) -> str:
    """What Slang makes of one entry of a text for a target, `cpp` or `cuda`.

    Raises:
        SlangCompileError: Slang refused it.
    """
    unit = disk.folder("sources", "generated") / f"{disk.key(text)}.slang"
    disk.write(unit, text.encode())
    found: str = ask(arguments=arguments_for(unit, [], entry=entry, target=target), do="code")["code"]
    return found
