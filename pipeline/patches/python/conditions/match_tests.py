"""What code does where a pattern does not match: it raises an error, or leaves an item out.

Where it raises an error, the match is a check of every run, and only the way with a match is recorded.
"""

from __future__ import annotations

import dis
from collections.abc import Sequence
from types import CodeType

from ....proxies.branches import is_handled

SKIPS = "the item is left out"


def without_match(code: CodeType, instructions: Sequence[dis.Instruction], at: int) -> str:
    """What code does at once where a call gives None: the error that it raises, `SKIPS`, or nothing in particular.

    Args:
        code: the code.
        instructions: those of the code, without caches.
        at: which of them calls.
    """
    test = _first_test(instructions, at)
    if test is None:
        return ""
    start = _side_of_none(instructions, test)
    following = [each for each in instructions if start is not None and each.offset >= start]
    if not following:
        return ""
    return SKIPS if _goes_on(following[0], instructions) else _raised(code, following)


def _first_test(instructions: Sequence[dis.Instruction], at: int) -> int | None:
    """Where what a call gives, or the variable that keeps it, is first tested; the instruction after it is loaded."""
    after = instructions[at + 1]
    if after.opname in ("COPY", "DUP_TOP"):  # of an assignment inside of an expression
        return at + 3
    if not after.opname.startswith("STORE_"):
        return at + 1
    for index in range(at + 2, len(instructions) - 1):
        if instructions[index].opname.startswith("LOAD_") and instructions[index].argval == after.argval:
            return index + 1
        if instructions[index].opname.startswith("STORE_") and instructions[index].argval == after.argval:
            return None
    return None


def _side_of_none(instructions: Sequence[dis.Instruction], test: int) -> int | None:
    """The offset at which code goes on with None; None where it does not ask right away."""
    truth = False
    for index in range(test, min(test + _MOST_OF_TEST, len(instructions) - 1)):
        each = instructions[index]
        given = getattr(each.argval, "of_none", None) if each.opname == "LOAD_CONST" else None
        if each.opname == "IS_OP" or given is not None:
            truth = each.arg == 0 if given is None else given
        elif "JUMP" in each.opname and "_IF_" in each.opname and "OR_POP" not in each.opname:
            if each.opname.endswith("NONE"):
                jumps = not each.opname.endswith("NOT_NONE")
            else:
                jumps = ("_TRUE" in each.opname) is truth
            return int(each.argval) if jumps else instructions[index + 1].offset
        elif each.opname not in _OF_TEST or (each.opname == "LOAD_CONST" and not _is_of_test(each.argval)):
            return None
    return None


_MOST_OF_TEST = 8
_OF_TEST = ("LOAD_CONST", "NOP", "SWAP", "ROT_TWO", "BINARY_SUBSCR", "TO_BOOL")


def _is_of_test(constant: object) -> bool:
    """Whether a constant is the None of a comparison, or what stands for a condition of an assertion or a raise."""
    return constant is None or getattr(constant, "keeps_sides", False) is True


def _goes_on(first: dis.Instruction, instructions: Sequence[dis.Instruction]) -> bool:
    """Whether an instruction goes on with the next item of a loop."""
    if first.opname == "FOR_ITER":
        return True
    to = first.argval if first.opname.startswith("JUMP_") and "_IF_" not in first.opname else None
    return any(each.opname == "FOR_ITER" and each.offset == to for each in instructions)


def _raised(code: CodeType, following: Sequence[dis.Instruction]) -> str:
    """The name of the error that code raises, which nothing handles, before it does anything else."""
    error = ""
    for each in following[:_MOST_OF_RAISE]:
        if each.opname == "LOAD_ASSERTION_ERROR" or (each.opname == "LOAD_GLOBAL" and not error):
            error = error or str(each.argval or "AssertionError")
        if each.opname == "RAISE_VARARGS":
            return "" if is_handled(code, each.offset) else error
        if each.opname.startswith(("STORE_", "DELETE_", "RETURN_", "YIELD_", "FOR_ITER")) or "JUMP" in each.opname:
            return ""
    return ""


_MOST_OF_RAISE = 80
