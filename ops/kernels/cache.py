"""The one cache on disk: compiled code, by a key of the source, the compilers and the target.

Compiled code runs without further checks, so the folder belongs to one user: it is made with mode 0700, and a folder
or a library that another user than root owns, or may write, is not used. A file is written under another name and
renamed, so that a reader never sees a part of it, and processes may share the cache.

A full disk or a lost power supply leaves files empty, short or changed, and the loader of libraries dies of some of
them. So each file that is used again has its digest beside it, in a file of its own since a library may hold nothing
after its end on every system; a file that differs from its digest counts as missing, and is made again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from ..graph.errors import TracepackError
from ..runtime.user_code import user_stacklevel

FORMAT = 5
"""Part of all keys; raise it whenever generated code or cached data change their meaning."""


class CacheFolderError(TracepackError):
    """No folder can be used for compiled code: the disk is full or read-only, or there is no folder at all."""


@contextmanager
def writing(place: Path) -> Iterator[None]:
    """A context that turns errors of the system, met on writing to the cache, into ours.

    Raises:
        CacheFolderError: the system refused it.
    """
    try:
        yield
    except OSError as error:
        raise CacheFolderError(
            f"compiled code cannot be kept in {place}: {error.strerror or error}",
            fix="Set TRACEPACK_CACHE to a folder of yours, on a disk with free space.",
        ) from error


def cache_folder() -> Path:
    """`TRACEPACK_CACHE`, else `tracepack` in the user's cache directory; a folder that is gone is made again.

    Where this folder cannot be written, as in many containers, or belongs to another user, the process uses a temporary
    folder, with a warning that names the variable.

    Raises:
        CacheFolderError: there is no temporary folder either.
    """
    wanted = _wanted()
    found = _found.get(wanted)
    if found is None or not _is_ours(found):  # whoever may write beside it may have put another in its place
        found = _found[wanted] = _usable(wanted)
    return found


_found: dict[Path | None, Path] = {}
"""The folder that is used in place of one that was wanted."""


def _wanted() -> Path | None:
    """An absolute path, or None for a user without a home directory."""
    named = os.environ.get("TRACEPACK_CACHE")
    if named:
        return _absolute(named)
    try:
        path = user_cache_path("tracepack", appauthor=False)
    except RuntimeError:  # what platformdirs and pathlib raise without HOME and an entry in the list of users
        return None
    return path if path.is_absolute() else None


@cache
def _absolute(named: str) -> Path:
    """The path that a name had when it was first used: a later `chdir` does not move the cache."""
    with writing(Path(named)):
        return Path(os.path.abspath(named))


def _is_ours(folder: Path) -> bool:
    """Whether compiled code may be read from a folder, and written to it if it can be."""
    try:
        return folder.is_dir() and not _others(folder)
    except OSError:
        return False


def _usable(wanted: Path | None) -> Path:
    reason = "the user has no home directory" if wanted is None else _objection(wanted)
    if wanted is not None and not reason:
        return wanted
    try:
        found = Path(tempfile.mkdtemp(prefix="tracepack-"))
    except OSError:
        raise CacheFolderError(
            f"compiled code cannot be kept: {reason}, and there is no temporary folder",
            fix="Set TRACEPACK_CACHE to a folder of yours.",
        ) from None
    warnings.warn(
        f"compiled code is kept for this process only: {reason}. Set TRACEPACK_CACHE to a folder of yours.",
        stacklevel=user_stacklevel(),
    )
    return found


def _objection(wanted: Path) -> str:
    """The reason why a folder, which is made where it is missing, cannot be used; "" where it can."""
    try:
        wanted.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=wanted):
            reason = _others(wanted)
    except OSError as error:
        reason = f"cannot be written ({error.strerror})"
    return f"{wanted} {reason}" if reason else ""


_ROOT = 0
"""The user who can replace the interpreter as well, and whose the files of an image are."""


def _others(path: Path) -> str:
    """The reason why another user could have written to a folder or a file; "" where none could."""
    return _foreign(path, path.stat())


def _foreign(path: Path, status: os.stat_result) -> str:
    if hasattr(os, "getuid") and status.st_uid not in (os.getuid(), _ROOT):
        return "belongs to another user"
    if os.name == "posix" and status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"can be written by other users (chmod go-w {path})"
    return ""


def holds(path: Path) -> bool:
    """Whether a file of `keep` is there that only this user can have written, as it was written.

    Any other is made again. A process reads a file for this once, unless it was replaced.
    """
    try:
        status = path.stat()
        seen = (str(path), status.st_ino, status.st_mtime_ns, status.st_size)
        if not stat.S_ISREG(status.st_mode) or _foreign(path, status):
            return False
        if seen not in _whole:
            if _digest_file(path).read_bytes() != _digest(path, path.read_bytes()):
                return False
            _whole.add(seen)
    except OSError:
        return False
    return True


_whole: set[tuple[str, int, int, int]] = set()
"""Files that agreed with their digest, by name, number, time and size."""


def _digest_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _digest(path: Path, content: bytes) -> bytes:
    """The digest of a file's name and content, so that no other file of the cache passes for it."""
    return hashlib.sha256(path.name.encode() + b"\0" + content).hexdigest().encode()


def folder(*parts: str) -> Path:
    """A folder of the cache, which is made if it is missing.

    Raises:
        CacheFolderError: it cannot be made.
    """
    path = cache_folder()
    with writing(path):
        for part in parts:
            path /= part
            try:
                path.mkdir(mode=0o700, exist_ok=True)
            except FileExistsError:  # something else lies there
                path.unlink(missing_ok=True)
                path.mkdir(mode=0o700, exist_ok=True)
    return path


def place(*parts: str) -> Path:
    """The path of a file, by the folders in the cache and its name, to be read where it `holds`, and else to be made.

    A cache that cannot be written, as that of an image whose file system is read-only, gives the files that it holds.

    Raises:
        CacheFolderError: the file is not there, and no folder can be made for it.
    """
    wanted = _wanted()
    if wanted is not None:
        kept = wanted.joinpath(*parts)
        if _is_ours(wanted) and holds(kept):
            return kept
    return folder(*parts[:-1]) / parts[-1]


def key(*parts: object) -> str:
    """A short hash of the parts' text."""
    return hashlib.sha256("\0".join(map(str, (FORMAT, *parts))).encode()).hexdigest()[:24]


def write(path: Path, content: bytes) -> None:
    """Writes a file that is read at once, or by people, under another name and renames it.

    Raises:
        CacheFolderError: the system refused it.
    """
    with writing(path.parent):
        handle, temporary = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            _rename(Path(temporary), path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise


def keep(made: Path, path: Path) -> None:
    """Renames a finished file of the same folder, or of one in it, to its name in the cache, with its digest.

    The digest comes first: a reader that finds the file finds what proves it.

    Raises:
        CacheFolderError: the system refused it.
    """
    with writing(path.parent):
        made.chmod(0o600)  # under a umask that lets a group write, no later process would trust the file
        write(_digest_file(path), _digest(path, made.read_bytes()))
        _rename(made, path)


def _rename(made: Path, path: Path) -> None:
    try:
        made.replace(path)
    except OSError:
        if not path.is_dir() or path.is_symlink():
            raise
        shutil.rmtree(path)
        made.replace(path)


def write_kept(path: Path, content: bytes) -> None:
    """Writes a file for `holds`.

    Raises:
        CacheFolderError: the system refused it.
    """
    with writing(path.parent), tempfile.TemporaryDirectory(dir=path.parent) as directory:
        made = Path(directory, "made")
        made.write_bytes(content)
        keep(made, path)


def read_json(path: Path) -> Any:
    """The content of a JSON file of `write_json`, or None where it is missing or damaged."""
    try:
        return json.loads(path.read_bytes()) if holds(path) else None
    except (OSError, ValueError):
        return None


def write_json(path: Path, content: object) -> None:
    """Writes a JSON file for `read_json`."""
    write_kept(path, json.dumps(content, sort_keys=True).encode())
