"""The one cache on disk: compiled code, by a key of the source, the compilers and the target.

Compiled code runs without further checks, so the folder belongs to one user: it is made with mode 0700, and a folder
or a library that another user owns or may write is not used. A file is written under another name and renamed, so that
a reader never sees a part of it, and processes may share the cache.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from ..runtime.user_code import user_stacklevel

FORMAT = 5
"""Part of all keys; raise it whenever generated code or cached data change their meaning."""


def cache_folder() -> Path:
    """`TRACEPACK_CACHE`, else `tracepack` in the user's cache directory.

    Where this folder cannot be written, as in many containers, or belongs to another user, the process uses a temporary
    folder, with a warning that names the variable.
    """
    return _usable(Path(os.environ.get("TRACEPACK_CACHE") or user_cache_path("tracepack", appauthor=False)))


@cache
def _usable(wanted: Path) -> Path:
    try:
        wanted.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=wanted):
            reason = _others(wanted)
    except OSError as error:
        reason = f"cannot be written ({error.strerror})"
    if not reason:
        return wanted
    found = Path(tempfile.mkdtemp(prefix="tracepack-"))
    warnings.warn(
        f"compiled code is kept for this process only: {wanted} {reason}. Set TRACEPACK_CACHE to a folder of yours.",
        stacklevel=user_stacklevel(),
    )
    return found


def _others(path: Path) -> str:
    """The reason why another user could have written to a folder; "" where none could."""
    status = path.stat()
    if hasattr(os, "getuid") and status.st_uid != os.getuid():
        return "belongs to another user"
    if os.name == "posix" and status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"can be written by other users (chmod go-w {path})"
    return ""


def holds(library: Path) -> bool:
    """Whether a compiled library exists that only this user can have written; any other is compiled again."""
    try:
        return not _others(library)
    except OSError:
        return False


def folder(*parts: str) -> Path:
    """A folder of the cache, which is made if it is missing."""
    path = cache_folder()
    for part in parts:
        path /= part
        path.mkdir(mode=0o700, exist_ok=True)
    return path


def key(*parts: object) -> str:
    """A short hash of the parts' text."""
    return hashlib.sha256("\0".join(map(str, (FORMAT, *parts))).encode()).hexdigest()[:24]


def write(path: Path, content: bytes) -> None:
    """Writes a file under another name and renames it."""
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read_json(path: Path) -> Any:
    """The content of a JSON file, or None where it is missing or truncated."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None


def write_json(path: Path, content: object) -> None:
    """Writes a JSON file under another name and renames it."""
    write(path, json.dumps(content, sort_keys=True).encode())
