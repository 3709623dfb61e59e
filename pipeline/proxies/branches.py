"""Why a branch on a recorded value holds for one way only, by the code that takes it."""

from __future__ import annotations

import dis
from functools import lru_cache
from types import CodeType

from ...ops.runtime.user_code import asking_frame, is_own

BRANCH = "a branch was taken on it"
LIBRARY_BRANCH = "a library took a branch on it"
"""Of those nothing is said at the trace: a library takes hundreds, and most are checks of its own."""
RAISING_BRANCH = "the function raises an error otherwise"
"""Nor of those: Python refuses the other way, too."""
MAY_BE_NONE = "a value that may be None as data decides is asked by code as it is, which does not see `is None`"
"""Of such a recording another one is made, of code that hands its tests over."""

PLAIN_FLOAT, PLAIN_INT = "it was taken as a plain float, as math does", "it was taken as a plain int"
PINNED = "the recording holds for one value only"
"""How the reasons begin why a value is fixed."""
HANDED = f"{PINNED}, because a call takes its items as arguments"
"""Why the length of a list is fixed that stands behind a star."""


def of_both(outer: str, inner: str) -> str:
    """Why something was fixed, of a recording and one of a branch in it."""
    return inner if inner == MAY_BE_NONE else outer or inner


def branch_reason(found: object) -> str:
    """Why the innermost frame outside of this package fixes what it asks for the truth of.

    Args:
        found: the thing, a bool as a rule.
    """
    frame = asking_frame()
    if frame is None or not is_own(frame.f_code.co_filename):
        return LIBRARY_BRANCH
    raises = type(found) is bool and _raises(frame.f_code, frame.f_lasti, not found)
    return RAISING_BRANCH if raises else BRANCH


@lru_cache(4096)
def _raises(code: CodeType, at: int, truth: bool) -> bool:
    """Whether code that asks for a truth raises an error right away where it is that one, and nothing handles it."""
    instructions = [each for each in dis.get_instructions(code) if each.opname not in ("CACHE", "EXTENDED_ARG")]
    following = [each for each in instructions if each.offset >= at]
    jump = next((each for each in following[:2] if "_IF_" in each.opname), None)
    if jump is None:
        return False
    jumps = ("_TRUE" in jump.opname) is truth
    start = jump.argval if jumps else jump.offset + 1
    for each in [each for each in instructions if each.offset >= start][:_MOST_OF_RAISE]:
        if each.opname == "RAISE_VARARGS":
            return not is_handled(code, each.offset)
        if each.opname.startswith(("STORE_", "DELETE_", "RETURN_", "YIELD_", "FOR_ITER")) or "JUMP" in each.opname:
            return False
    return False


_MOST_OF_RAISE = 80
"""The instructions that a line which raises an error has at most, its message among them."""


def is_handled(code: CodeType, offset: int) -> bool:
    """Whether a handler stands around an instruction: comprehensions of Python 3.12 have some of their own."""
    entries = getattr(dis.Bytecode(code), "exception_entries", None)
    if entries is None:  # Python 3.10 has instructions instead
        return any(each.opname.startswith("SETUP_") for each in dis.get_instructions(code))
    return any(entry.start <= offset < entry.end for entry in entries)
