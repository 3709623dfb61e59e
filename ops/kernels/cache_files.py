"""The cache on disk: what was compiled once is found again by a key of the source, the compilers and the target.

Files are written aside and renamed, so that a reader never sees half of one and processes may share the cache.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from .cache import cache_folder

FORMAT = 3
"""To be raised whenever generated code or cached data change their meaning."""


def folder(*parts: str) -> Path:
    """A directory of the cache, made if need be."""
    path = cache_folder().joinpath("slang", *parts)
    path.mkdir(parents=True, exist_ok=True)
    return path


def key(*parts: object) -> str:
    """A short hash of the parts' text."""
    return hashlib.sha256("\0".join(map(str, (FORMAT, *parts))).encode()).hexdigest()[:24]


@cache
def processor() -> str:
    """What the compiled code may rely on: a cache directory can be shared by unlike machines."""
    machine = os.uname().machine
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return machine
    flags = next((line for line in text.splitlines() if line.startswith(("flags", "Features"))), "")
    return f"{machine} {' '.join(sorted(flags.split()[2:]))}"


def write(path: Path, content: bytes) -> None:
    """Puts a file in place at once."""
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read_json(path: Path) -> Any:
    """The content of a JSON file, or None where it is missing or was cut short."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None


def write_json(path: Path, content: object) -> None:
    """Puts a JSON file in place at once."""
    write(path, json.dumps(content, sort_keys=True).encode())
