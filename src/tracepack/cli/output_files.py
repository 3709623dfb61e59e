"""Writes the output files of a command: a file whole or not at all, a pipe or a device as it is.

A pipe, a device and a descriptor that this process was given are written into: replacing `/dev/stdout` by a file would
break every other program of the machine.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys

from ..ops.graph.errors import ArchiveError
from ..serialization.container.replacing import replacing
from .exit_codes import UsageError, as_usage

_GIVEN = re.compile(r"/(?:dev|proc/self)/fd/([0-9]{1,6})")
_STDOUT = 1


def write_output(path: str, data: bytes) -> None:
    """Replaces the content of a file, whose old content stays if that fails; writes into anything else.

    Raises:
        UsageError: it cannot be written.
    """
    if path == os.devnull:
        return
    number = _descriptor(path)
    try:
        if path.endswith(("/", os.sep)):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if number is not None:
            _write_into(os.dup(number), data)
        elif is_stream(path):
            _write_into(os.open(path, os.O_WRONLY | getattr(os, "O_NOCTTY", 0)), data)
        else:
            with replacing(path, "the file") as file:
                file.write(data)
    except ArchiveError as error:
        raise as_usage(error) from error
    except OSError as error:
        if isinstance(error, BrokenPipeError) and number == _STDOUT:
            raise  # its reader has ended, as `head` does
        raise UsageError("cannot write the file", where=repr(path), got=error.strerror or str(error)) from error


def is_stream(path: str) -> bool:
    """Whether a path leads to a pipe, a device, a socket or an open descriptor."""
    if _descriptor(path) is not None:
        return True
    status = _status(path)
    return status is not None and not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode))


def is_stdout(path: str) -> bool:
    """Whether a path leads to standard output."""
    return _descriptor(path) == _STDOUT


def _descriptor(path: str) -> int | None:
    """The descriptor of this process to which a path leads; that of a standard stream also by its file."""
    given = _GIVEN.fullmatch(os.path.abspath(path))
    status = _status(path)
    for number, stream in ((_STDOUT, sys.stdout), (2, sys.stderr)):
        if stream is not None and status is not None and _is_open_as(number, status):
            stream.flush()
            return number
    return int(given[1]) if given else None


def _is_open_as(number: int, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.fstat(number), status)
    except OSError:
        return False


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (OSError, ValueError):
        return None


def _write_into(descriptor: int, data: bytes) -> None:
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
