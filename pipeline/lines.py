"""Where in the user's code a recording is: the line to show in errors and to keep with a node."""

from __future__ import annotations

import dis
import sys
from types import FrameType

from ..ops.graph import SourceLine
from ..ops.user_code import OURS, is_users, source_line


def user_line() -> SourceLine | None:
    """The innermost line that belongs to the user, or None."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_users(frame.f_code.co_filename):
            return source_line(frame, frame.f_lineno)
        frame = frame.f_back
    return None


def running_instruction() -> str:
    """The name of the instruction that called into us: of the innermost frame that is not ours."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(OURS):
        frame = frame.f_back
    return "" if frame is None else dis.opname[frame.f_code.co_code[frame.f_lasti]]
