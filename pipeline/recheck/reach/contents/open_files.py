"""Open files: how far each was read or written, which the next call goes on from."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from io import IOBase
from typing import Any

Access = tuple[str, Callable[[], dict[Any, Any]], Callable[[dict[Any, Any]], None]]
FILE = "an open file"


def file_access(file: IOBase) -> Access | None:
    """A name for a file, and functions that read and set how far it is; None where nothing is read of it."""
    if file.closed or not file.readable() or any(file is each for each in (sys.stdout, sys.stderr)):
        return None
    return access_by_place(file)


def access_by_place(file: IOBase) -> Access:
    """The same of any file that is open. What was written behind its end is cut off, where it is set back."""
    size = _size(file)

    def write(items: dict[Any, Any]) -> None:
        told = items[""]
        if told < 0 or file.closed or not file.seekable() or told_of(file) == told:
            return
        if -1 < size < _size(file):
            file.truncate(size)
        file.seek(told)

    return FILE, lambda: {"": told_of(file)}, write


def told_of(file: IOBase) -> int:
    """How far a file was read; -1 where that is not known, as of one that is being iterated over."""
    try:
        return file.tell()
    except (OSError, ValueError):
        return -1


def _size(file: IOBase) -> int:
    """How long a file is that may be written to; -1 where that is not known."""
    told = told_of(file)
    if told < 0 or not file.writable() or not file.seekable():
        return -1
    size = file.seek(0, os.SEEK_END)
    file.seek(told)
    return size
