"""Compiles modules that are generated as a whole, without functions of a user, such as comprehensions."""

from __future__ import annotations

from pathlib import Path

from ...kernels import cache as disk
from .client import ask
from .native_library import native_library
from .slangc import arguments_for


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
