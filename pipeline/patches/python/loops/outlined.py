"""Instructions in which a comprehension is what it was up to Python 3.11: a call, whose variables are its own.

From Python 3.12 on it stands in the code around it: a loop, variables that it clears and restores, and a handler of
exceptions. None of that tells anything about a loop whose body it stands in, and analyses of loops need not know it.
So they look at a copy, in which it runs once or not at all, under names that nothing else has.
"""

from __future__ import annotations

import copy
import dis
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

MADE, SKIPPED = "BUILD_COMPREHENSION", "COMPREHENSION"
"""What instructions are called, since Python has none of these names: the one after which the result of a comprehension
is on the stack, and the first one of it, whose argument is the last one, and how many more entries the stack has then.
"""
_CLEARS = "LOAD_FAST_AND_CLEAR"
_BUILDS = ("BUILD_LIST", "BUILD_MAP", "BUILD_SET")
_OF_CELLS = ("LOAD_DEREF", "STORE_DEREF", "MAKE_CELL")


class _Inlined(NamedTuple):
    """A comprehension.

    Attributes:
        start: where it clears its variables; head: where it asks for items; end: where there are no more.
        restores: where the variables are restored; handled: the same after an error.
        names: of the variables.
    """

    start: int
    head: int
    end: int
    restores: list[int]
    handled: list[int]
    names: set[str]


def outlined(instructions: Sequence[Any]) -> Sequence[Any]:
    """The instructions, at the same places, with comprehensions that stand in them as if they were called."""
    found = [each for at in range(len(instructions)) if (each := _inlined(instructions, at)) is not None]
    if not found:
        return instructions
    copies = [copy.copy(each) for each in instructions]
    made = {id(each): other for each, other in zip(instructions, copies, strict=True)}
    for each in copies:
        each.target = None if each.target is None else made[id(each.target)]
    for inlined in reversed(found):  # those inside of others first
        _outline(copies, inlined)
    return copies


def _inlined(code: Sequence[Any], head: int) -> _Inlined | None:
    """The comprehension whose first loop asks for its items at an instruction."""
    if code[head].opname != "FOR_ITER" or head < 2 or code[head - 2].opname not in _BUILDS:
        return None
    start = head - 3
    while start > 0 and code[start - 1].opname == _CLEARS:
        start -= 1
    cleared = [each.argval for each in code[start : head - 3] if each.opname == _CLEARS]
    end = _place(code, code[head].target)
    restores = list(_restores(code, end + 1, set(cleared)))
    entry = code[head].exn_tab_entry
    handled = [] if entry is None else list(_restores(code, _place(code, entry.target), set(cleared)))
    own = [each for each in code[start:end] if each.opname in _OF_CELLS and each.argval in cleared]
    if not cleared or len(restores) != len(cleared) or own:
        return None
    return _Inlined(start, head, end, restores, handled, set(cleared))


def _place(code: Sequence[Any], each: Any) -> int:
    return next(at for at, other in enumerate(code) if other is each)


def _restores(code: Sequence[Any], at: int, names: set[str]) -> Iterator[int]:
    left = set(names)
    while left and at < len(code) and code[at].opname in ("POP_TOP", "SWAP", "STORE_FAST", "NOP"):
        if code[at].opname == "STORE_FAST" and code[at].argval in left:
            left.remove(code[at].argval)
            yield at
        at += 1


def _outline(code: Sequence[Any], inlined: _Inlined) -> None:
    around, body = code[inlined.start - 1].exn_tab_entry, range(inlined.start, inlined.end)
    for at in (*body, *inlined.restores, *inlined.handled):
        each = code[at]
        if each.opname == _CLEARS:
            each.opname, each.opcode, each.arg, each.argval = "LOAD_CONST", dis.opmap["LOAD_CONST"], 0, None
        elif each.opname.endswith(("_FAST", "_FAST_CHECK")) and each.argval in inlined.names:
            each.argval = f"{each.argval} of {inlined.head}"
    for at in range(inlined.start, inlined.restores[-1] + 1):
        code[at].exn_tab_entry = around
    for head in range(inlined.head, inlined.end):
        if code[head].opname == "FOR_ITER":
            code[head].opname = "JUMP_OR_ENTER"
            for at in range(head, inlined.end):
                if code[at].target is code[head]:
                    code[at].target = code[head].target
                    code[at].opname = code[at].opname.replace("BACKWARD", "FORWARD")
    made = inlined.end + (code[inlined.end + 1].opname == "POP_TOP")  # which follows the end in Python 3.13
    code[made].opname = MADE
    restores = code[made + 1].opname == "SWAP" and inlined.restores[-1] == made + 1 + len(inlined.names)
    code[inlined.start].opname = SKIPPED
    code[inlined.start].argval = (inlined.restores[-1], 0) if restores else (made, len(inlined.names))
