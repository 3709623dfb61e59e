"""Where in the user's code a recording is: the line to show in errors and to keep with a node."""

from __future__ import annotations

import linecache
import os
import sys
from pathlib import PurePath

import torch

from ..ops.graph import SourceLine

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_TORCHS = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
_TYPED = ("<stdin", "<ipython", "<string", "<doctest")  # what a user types has no file


def _is_users(path: str) -> bool:
    """Whether a file is neither torch's, nor ours, nor generated."""
    if path.startswith("<"):
        return path.startswith(_TYPED)
    return not path.startswith((_OURS, _TORCHS))


def user_line() -> SourceLine | None:
    """The innermost line that belongs to the user, or None."""
    frame = sys._getframe(1)
    while frame is not None:
        path = frame.f_code.co_filename
        if _is_users(path):
            code = linecache.getline(path, frame.f_lineno).strip()
            return SourceLine(PurePath(path).name, frame.f_lineno, frame.f_code.co_name, code[:200])
        frame = frame.f_back  # type: ignore[assignment]
    return None
