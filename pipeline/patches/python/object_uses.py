"""Whether a loop asks the objects that it goes through for nothing but attributes: copies of them would do.

Copies are other objects than those that they were made of, and may not be equal to them.
"""

from __future__ import annotations

import dis
from collections.abc import Sequence
from typing import Any

from .purity import own_instructions

_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_RESULTS = ("LIST_APPEND", "YIELD_VALUE")
_CALLS = ("CALL", "CALL_METHOD")


def keeps_objects(instructions: Sequence[dis.Instruction], shown: frozenset[Any]) -> bool:
    """Whether a loop over objects of some classes never asks whether one is another one.

    Args:
        instructions: of the function of a comprehension, or of the body of a loop.
        shown: the classes; none where the loop goes through no objects.
    """
    if not shown:
        return True
    code = own_instructions(instructions)
    if any(each.opname == "IS_OP" and not _is_none(code[at - 1]) for at, each in enumerate(code)):
        return False
    if any(getattr(each.argval, "of_identity", False) for each in instructions if each.opname == "LOAD_CONST"):
        return False
    if all(kind.__eq__ is not object.__eq__ for kind in shown):
        return True
    names = _names_of_items(code)
    loads = [at for at, each in enumerate(code) if each.opname == "LOAD_FAST" and each.argval in names]
    return all(_is_asked_or_kept(code, at) for at in loads)


def _is_none(each: dis.Instruction) -> bool:
    return each.opname == "LOAD_CONST" and each.argval is None


def _is_asked_or_kept(code: Sequence[dis.Instruction], at: int) -> bool:
    after = code[at + 1].opname
    appended = code[at - 1].opname in _ATTRIBUTES and code[at - 1].argval == "append" and after in _CALLS
    return after in _ATTRIBUTES or after in _RESULTS or appended


def _names_of_items(code: Sequence[dis.Instruction]) -> set[str]:
    """The variables that a loop stores its items in."""
    start = next((at + 1 for at, each in enumerate(code) if each.opname == "FOR_ITER"), 0)
    found = set[str]()
    for each in code[start:]:
        if not each.opname.startswith(("STORE_FAST", "UNPACK_SEQUENCE")):
            break
        found |= {each.argval} if each.opname == "STORE_FAST" else set()
    return found
