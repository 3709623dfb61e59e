"""Files and folders that a function reads and then writes, so that its next call finds what this one has left there.

One that is written first and read then, as a temporary file is, keeps nothing from call to call.
"""

from __future__ import annotations

import builtins
import io
import os
import threading
from collections.abc import Callable
from functools import wraps
from pathlib import PurePath
from typing import Any

_READ, _WRITTEN, _ADDED, _ASKED, _LISTED, _MADE = "read", "written", "added to", "asked for", "listed", "made"


class FileUses(threading.local):
    """What this thread does to files.

    Attributes:
        files: how, and which, in this order; None while nobody wants to know.
    """

    files: list[tuple[str, str]] | None = None

    def add(self, how: str, path: Any) -> None:
        """Adds one by its path; a number of an open file has none."""
        if self.files is not None and isinstance(path, str | bytes | os.PathLike):
            self.files.append((how, os.path.abspath(os.fsdecode(path))))


touched = FileUses()


def kept_in(files: list[tuple[str, str]]) -> str:
    """The name of the first file or folder in which a call finds what the last one left; empty where there is none.

    Args:
        files: what a call did, in this order.
    """
    for place, (how, path) in enumerate(files):
        before, after = ([each for each, other in part if other == path] for part in (files[:place], files[place:]))
        goes_on = how == _WRITTEN and _READ in before and _WRITTEN not in before
        adds = how == _ADDED and not {_READ, _ASKED}.isdisjoint(before + after) and _WRITTEN not in before
        inside = (each for kind, each in files if kind == _MADE and os.path.dirname(each) == path)
        if goes_on or adds or (how == _LISTED and any(map(os.path.lexists, inside))):
            return PurePath(path).name
    return ""


def _opening(plain: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(plain)
    def opened(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        if touched.files is not None and isinstance(mode, str) and "opener" not in kwargs:
            if not {"w", "x", "a"}.isdisjoint(mode):
                _note_new(file)
                touched.add(_ADDED if "a" in mode else _WRITTEN, file)
            else:
                touched.add(_READ, file)
                if "+" in mode:
                    touched.add(_WRITTEN, file)
        return plain(file, mode, *args, **kwargs)

    return opened


def _note_new(path: Any) -> None:
    if isinstance(path, str | bytes | os.PathLike) and not os.path.lexists(path):
        touched.add(_MADE, path)


def _noting(how: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def make(plain: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(plain)
        def call(path: Any = ".", *args: Any, **kwargs: Any) -> Any:
            found = plain(path, *args, **kwargs)
            touched.add(how, path)
            return found

        return call

    return make


def _by_number(plain: Callable[..., Any]) -> Callable[..., Any]:
    """What opens a file by its number, as `tempfile` does: it makes it, or reads it."""

    @wraps(plain)
    def opened(path: Any, flags: int, *args: Any, **kwargs: Any) -> Any:
        if touched.files is not None and flags & os.O_CREAT:
            _note_new(path)
        return plain(path, flags, *args, **kwargs)

    return opened


PLACES: list[tuple[Any, str, Callable[[Any], Any]]] = [
    (builtins, "open", _opening), (io, "open", _opening), (os, "open", _by_number), (os, "mkdir", _noting(_MADE)),
    (os, "stat", _noting(_ASKED)), (os, "listdir", _noting(_LISTED)), (os, "scandir", _noting(_LISTED)),
]  # fmt: skip
