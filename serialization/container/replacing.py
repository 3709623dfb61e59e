"""Replaces a file atomically: writes beside it, syncs, renames; removes temporary files of killed writers."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from typing import Any, BinaryIO

from ...ops.graph.errors import ArchiveError

try:
    import fcntl
except ImportError:  # Windows has no such locks: there temporary files of killed writers stay
    fcntl = None  # type: ignore[assignment]

_UNCHANGED = "A file that was there before is unchanged."


def path_of(target: Any) -> str:
    """The absolute path that a caller named.

    Raises:
        ArchiveError: it is no path.
    """
    try:
        if isinstance(target, bytes | bytearray | memoryview):
            raise TypeError
        path = os.fsdecode(os.fspath(target))
        if b"\0" in os.fsencode(path):  # which halves of characters are refused by
            raise ValueError
    except (TypeError, ValueError):
        raise ArchiveError(
            "not a path",
            got=repr(target)[:80],
            expected="a path, as text without NUL and halves of characters, or a binary file object",
        ) from None
    return os.path.abspath(path)


@contextlib.contextmanager
def replacing(target: Any, what: str = "the archive") -> Iterator[BinaryIO]:
    """A context with a file to write, which replaces the file at the path at the end, and keeps its mode.

    Args:
        target: the path. Where it is a symbolic link, the file that it leads to is replaced.
        what: the name of the file in messages.

    Raises:
        ArchiveError: it cannot be written, because the disk is full for example; an old file stays as it is.
    """
    path = os.path.realpath(path_of(target))
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise ArchiveError(
            f"cannot write {what}", where=repr(target)[:200], got="a device, a pipe or a socket",
            expected="a regular file, or a new one", fix="Pass a binary file object to write into it.",
        )  # fmt: skip
    folder, prefix = os.path.dirname(path), _prefix(path)
    temporary = os.path.join(folder, f"{prefix}{os.urandom(4).hex()}.tmp")
    try:
        try:
            _sweep(folder, prefix)
            with os.fdopen(_create(temporary), "w+b") as file:
                _keep_mode(file, path)
                yield file
                file.flush()
                os.fsync(file.fileno())
                os.replace(temporary, path)
        except OSError as error:
            raise write_error(target, error, what) from error
        finally:
            _discard(temporary)
    except BaseException:  # an interrupt in the `finally` comes before its file is gone
        _discard(temporary)
        raise


def _discard(temporary: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(temporary)


def write_error(target: Any, error: Exception, what: str = "the archive") -> ArchiveError:
    """The error for a file that cannot be written."""
    got = getattr(error, "strerror", None) or str(error)
    return ArchiveError(f"cannot write {what}", where=repr(target)[:200], got=got, fix=_UNCHANGED)


def _prefix(path: str) -> str:
    """The prefix of the names of temporary files for a path; its length does not grow with that of the path."""
    return f".tracepack-{hashlib.sha256(os.fsencode(os.path.basename(path))).hexdigest()[:12]}-"


def _create(temporary: str) -> int:
    """Opens a new file, locked while it is open, so that another writer does not remove it."""
    while True:
        handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        if fcntl is None:
            return handle
        with contextlib.suppress(OSError):  # the file system has no locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return handle
        os.close(handle)  # another writer removed it before it was locked


def _keep_mode(file: BinaryIO, path: str) -> None:
    """Gives a file the mode of the one that it replaces."""
    with contextlib.suppress(FileNotFoundError):
        mode = os.stat(path).st_mode & 0o777
        if hasattr(os, "fchmod"):
            os.fchmod(file.fileno(), mode)


def _sweep(folder: str, prefix: str) -> None:
    """Removes the temporary files for a path that no process has locked."""
    if fcntl is None:
        return
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        strays = [entry.path for entry in entries if entry.name.startswith(prefix) and entry.name.endswith(".tmp")]
        for stray in strays:
            _remove_unlocked(stray)


def _remove_unlocked(stray: str) -> None:
    with contextlib.suppress(OSError):
        handle = os.open(stray, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(stray)
        finally:
            os.close(handle)
