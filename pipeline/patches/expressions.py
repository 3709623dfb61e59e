"""What stands for `re`, or for a compiled pattern, in a recorded function: its functions take plain texts only."""

from __future__ import annotations

import dis
import inspect
import re
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from types import CodeType, FrameType
from typing import Any
from weakref import WeakKeyDictionary

from ...ops.runtime.user_code import OURS
from ..proxies.base import is_traced
from ..recording.guards import MATCH
from ..recording.recorder import Recorder
from ..rules.assertions import required
from .library.values.replaced_matches import filled, replaced
from .python.conditions.match_tests import SKIPS, without_match
from .python.operations import active, holds_traced
from .redirect import STAND_INS


class RegularExpressions:
    """Stands for `re`, or for a compiled pattern."""

    def __init__(self, plain: Any) -> None:
        self.plain = plain

    def __getattr__(self, name: str) -> Any:
        plain = getattr(self.plain, name)
        return _expression(self.plain, name, plain) if name in EXPRESSIONS else plain


EXPRESSIONS = ("search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split")


def _expression(owner: Any, name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        recorder = active()
        if recorder is None or not (holds_traced(args) or holds_traced(kwargs)):
            return plain(*args, **kwargs)
        bound = inspect.signature(plain).bind(*args, **kwargs).arguments
        return _record_expression(recorder, name, {"pattern": owner} | bound)

    return call


def _record_expression(recorder: Recorder, name: str, given: dict[str, Any]) -> Any:
    """Records a call by what it gave, by names: a method of a pattern has places (`pos`, `endpos`), and no flags."""
    pattern, flags = given["pattern"], int(given.get("flags", 0))
    if isinstance(pattern, re.Pattern):
        pattern, flags = pattern.pattern, int(pattern.flags)
    if not given.keys().isdisjoint(("pos", "endpos")):
        recorder.refuse(
            f"{name} of a pattern with a place where it begins or ends cannot be recorded",
            f"Search the whole text, or a part, from which anchors and places count: pattern.{name}(text[:end]).",
        )
    if callable(given.get("repl")) and type(pattern) is str:
        return filled(recorder, name, (pattern, flags), given["repl"], given["string"], given.get("count", 0))
    if type(pattern) is not str or not _is_plain(given.get("repl", "")):
        recorder.refuse(f"re.{name} is recorded with a constant pattern and text", _CONSTANT)
    text = given["string"]
    if name in ("sub", "subn"):
        return _replaced(recorder, name, (pattern, flags), str(given["repl"]), text, given.get("count", 0))
    if name == "split":
        return recorder.scalar("re_split", pattern, flags, text, given.get("maxsplit", 0))
    if name in ("findall", "finditer"):
        return recorder.scalar(f"re_{name}", pattern, flags, text)
    return _match(recorder, name, pattern, flags, text)


_CONSTANT = "Write both as constant texts, or do it before, and pass what it gives as an argument."


def _replaced(recorder: Recorder, name: str, pattern: tuple[str, int], new: str, text: Any, count: Any) -> Any:
    """The text with matches replaced; of `subn` also how many: those that `finditer` finds, up to the count."""
    made = recorder.scalar("re_sub", *pattern, new, text, count)
    if name == "sub":
        return made
    return made, replaced(recorder, recorder.scalar("re_finditer", *pattern, text), count)


def _match(recorder: Recorder, name: str, pattern: str, flags: int, text: Any) -> Any:
    """A match, or None; where nothing but the truth of it is asked, whether there is one.

    A loop over a list of any length goes both ways where its code asks whether there is one; without a match it fails
    else, as Python does. Elsewhere it is guarded which one it is.
    """
    found = recorder.scalar("re_found", name, pattern, flags, text)
    if _asks_truth():
        found.matched = True
        return found
    loop = recorder.rounds.open[-1] if recorder.rounds.open else None
    tested, without = _is_tested(), without_match(_users_frame().f_code, *_running())
    if without not in ("", SKIPS) and found.concrete:
        taken = required(recorder, found, f"the function raises {without} where there is no match", without)
    elif recorder.branches and not tested and required(recorder, found, "the function goes on by the match"):
        return _made(recorder, f"re_{name}", pattern, flags, text)
    elif loop is None or loop.closed:
        taken = recorder.pin(found, MATCH if tested else "the function goes on by the match")
    else:
        taken = loop.decide(found) if tested else True
        if not taken and without == SKIPS and loop.frame is _users_frame():
            loop.leave_out()
    if taken and not found.concrete:
        return NoMatch(recorder)
    return recorder.scalar(f"re_{name}", pattern, flags, text) if taken else None


_matches: WeakKeyDictionary[Recorder, dict[Any, Any]] = WeakKeyDictionary()


def _made(recorder: Recorder, name: str, pattern: str, flags: int, text: Any) -> Any:
    """A match, which is the same one wherever a branch asks for it; a round of a loop has values of its own."""
    if recorder.rounds.open or not is_traced(text):
        return recorder.scalar(name, pattern, flags, text)
    known = _matches.setdefault(recorder, {})
    key = name, pattern, flags, id(text.value)
    if key not in known:
        known[key] = text, recorder.scalar(name, pattern, flags, text)
    return known[key][1]


class NoMatch:
    """Stands for the match of an item, where no item of the example has one."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def _refuse(self, *_: Any) -> Any:
        self._recorder.refuse(
            "no item of the example has the match that a loop goes on by", "Trace with an item that has one."
        )

    __getitem__ = __getattr__ = _refuse


def _asks_truth() -> bool:
    """Whether the code that called takes the result for a condition, and for nothing else."""
    code, at = _running()
    after = code[at + 1] if at + 1 < len(code) else None
    if after is None:
        return False
    jumps = after.opname.startswith("POP_JUMP") and after.opname.endswith(("TRUE", "FALSE"))
    return (
        jumps or after.opname == "TO_BOOL" or getattr(after.argval, "asks_truth", False) is True or _in_bool(code, at)
    )


def _running() -> tuple[list[dis.Instruction], int]:
    """The instructions of the code that called, and which of them runs."""
    frame = _users_frame()
    code = [each for each in dis.get_instructions(frame.f_code) if each.opname not in ("CACHE", "EXTENDED_ARG", "NOP")]
    return code, max(index for index, each in enumerate(code) if each.offset <= frame.f_lasti)


def _in_bool(code: Sequence[dis.Instruction], at: int) -> bool:
    """Whether what an instruction gives is the argument of `bool`: its expression is followed back to the callee."""
    after = code[at + 1]
    height = 0
    for index in range(at, 0, -1):
        if code[index].opcode in (*dis.hasjrel, *dis.hasjabs) or after.arg != 1 or not _CALLS.match(after.opname):
            return False
        height += dis.stack_effect(code[index].opcode, code[index].arg)
        if height == 1:
            before = index - 1 - (code[index - 1].opname == "PUSH_NULL")  # of Python 3.13, above what is called
            callee = code[before - (code[before].opname == "MAKE_FUNCTION")].argval
            ours = isinstance(callee, CodeType) and callee.co_filename.startswith(OURS)
            return (ours and callee.co_name == "bool") or callee is STAND_INS["bool"]
    return False


_CALLS = re.compile("PRECALL|CALL|CALL_FUNCTION$")


def _is_tested() -> bool:
    """Whether the code that called takes the result for a condition, or keeps it in a variable that it takes so."""
    plain, at = _running()
    after = plain[at + 1] if at + 1 < len(plain) else None
    if after is None or not after.opname.startswith("STORE_"):
        asked = after is not None and after.opname in ("LOAD_ATTR", "LOAD_METHOD")
        return not asked and not (after is not None and after.opname == "LOAD_CONST" and after.argval is not None)
    for load, test in pairwise(plain):
        held = {after.argval} & set(load.argval if isinstance(load.argval, tuple) else (load.argval,))
        if held and load.opname.startswith(("LOAD_", "STORE_FAST_LOAD")) and _tests(test, plain):
            return True
    return False


def _tests(this: Any, instructions: Sequence[Any]) -> bool:
    """Whether an instruction asks for the truth of what was loaded before it, or whether that is None."""
    if this.opname in ("TO_BOOL", "UNARY_NOT", "COPY", "DUP_TOP") or ("JUMP" in this.opname and "IF" in this.opname):
        return True
    following = next((each for each in instructions if each.offset > this.offset), None)
    if this.opname != "LOAD_CONST" or following is None:
        return getattr(this.argval, "asks_truth", False) is True
    return following.opname == "IS_OP" or getattr(this.argval, "asks_truth", False) is True


def _users_frame() -> FrameType:
    """The frame of the code that called."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(OURS):
        frame = frame.f_back
    return frame


def _is_plain(text: Any) -> bool:
    return isinstance(text, str) and not is_traced(text)
