"""Which instruction takes from the stack what another one has pushed."""

from __future__ import annotations

import dis
import sys
from collections.abc import Collection, Sequence
from types import CodeType, FunctionType
from typing import Any

from ...library.class_methods import CLASSES_OF_PYTHON
from ...redirect import name_of
from ..loops.outlined import SKIPPED

BELOW_KEY = 2  # how deep a container lies on the stack when an entry is stored in it
FILLS = ("LIST_EXTEND", "LIST_APPEND", "SET_UPDATE", "SET_ADD", "DICT_UPDATE", "DICT_MERGE")
"""What takes the uppermost entry of the stack into a container below it."""


def place_of(code: Sequence[Any], start: int, each: Any) -> int:
    """Where an instruction stands, from a place on."""
    return next(at for at in range(start, len(code)) if code[at] is each)


def taker_of(code: Sequence[Any], start: int) -> tuple[Any, int]:
    """The instruction that takes what one has pushed from the stack, and how deep that lies then."""
    depth, at, inside = 1, start, False
    while (at := at + 1) < len(code):
        each = code[at]
        if each.opname == SKIPPED:
            at, more = each.argval
            depth += more
            continue
        if inside and each.opname == "JUMP_FORWARD":  # from one side of `a if condition else b` to what follows both
            at = place_of(code, at, each.target) - 1
            continue
        if depth == BELOW_KEY and each.opname in ("SWAP", "ROT_TWO") and getattr(code[at - 1].argval, "passes", False):
            at, depth = at + 1, 1  # past the subscript that hands it over
            continue
        ends = each.opname in ATTRIBUTES or each.opname.startswith("POP_JUMP")
        if ends and depth == 1:
            return each, depth
        if depth == BELOW_KEY and (stored := _augmented(code, at)) is not None:
            return stored, depth
        if each.opname.startswith("POP_JUMP") and _is_choice(code, at, each):
            depth, inside = depth - 1, True
            continue
        if each.target is not None or each.opname in _MOVES:
            break
        taken, given = _effect(each)
        if taken >= depth:
            return each, depth
        depth += given - taken
    return None, 0


def called_with(code: Sequence[Any], made: int) -> str:
    """The name of what is called with a function that is made of some code, which an instruction loads."""
    ends = [at for at in range(made, min(made + 4, len(code))) if code[at].opname in _MAKE]
    call, found = taker_of(code, ends[-1])[0] if ends else None, list[tuple[int, str]]()
    for at in range(made) if call is not None and call.opname.startswith("CALL") else ():
        if name := function_at(code, at):
            taker, depth = taker_of(code, at + (code[at + 1].opname == "MAKE_FUNCTION"))
            found += [(depth, name)] if taker is call else []
    return max(found, default=(0, ""))[1]


def function_at(code: Sequence[Any], at: int) -> str:
    """The name of a function or a method that an instruction loads, or of what stands for it; empty for others."""
    thing = code[at].argval
    if isinstance(thing, FunctionType):
        return name_of(thing)
    if isinstance(thing, CodeType):
        return thing.co_name.rpartition(".")[2] if thing.co_name.startswith("builtins.") else ""
    return str(thing) if code[at].opname in ("LOAD_GLOBAL", *ATTRIBUTES) else ""


_MAKE = ("MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE")


def is_callee(code: Sequence[Any], at: int) -> bool:
    """Whether what an instruction loads is called, with keywords or without."""
    taker, depth = taker_of(code, at)
    return taker is not None and taker.opname.startswith("CALL_FUNCTION") and depth == _effect(taker)[0]


def is_asked(code: Sequence[Any], at: int, classes: Collection[str]) -> bool:
    """Whether an attribute is one that is replaced: a class only where it is called, not where it is asked.

    Args:
        code: the instructions.
        at: the place of the one that looks the attribute up.
        classes: the attributes that are classes, which are asked for more than to be called.
    """
    this, before, after = code[at], code[at - 1], code[at + 1]
    if this.argval not in classes or this.opname == "LOAD_METHOD" or after.opname == "PUSH_NULL":
        return True
    if sys.version_info < (3, 11):  # no instruction says there what is called
        return is_callee(code, at)
    return _is_method(this) or (before.opname == "LOAD_GLOBAL" and bool((before.arg or 0) & 1))


def is_method_of_class(code: Sequence[Any], at: int) -> bool:
    """Whether an instruction asks a class of Python for a method that is called, as in ``str.lower(text)``."""
    this, before = code[at], code[at - 1]
    if before.opname != "LOAD_GLOBAL" or before.argval not in CLASSES_OF_PYTHON:
        return False
    if this.opname == "LOAD_ATTR" and sys.version_info < (3, 11):  # where keywords are given; see `is_loaded_to_call`
        return not hasattr(this, "target") or is_callee(code, at)
    return this.opname == "LOAD_METHOD" or (this.opname == "LOAD_ATTR" and _is_method(this))


def _is_method(load: Any) -> bool:
    """Whether an instruction of Python 3.12 or later looks an attribute up to call it as a method."""
    return sys.version_info >= (3, 12) and bool((load.arg or 0) & 1)


def is_loaded_to_call(code: Sequence[Any], at: int) -> bool:
    """Whether an instruction loads a variable to call it."""
    if code[at].opname not in ("LOAD_FAST", "LOAD_DEREF"):
        return False
    if sys.version_info < (3, 11):  # no instruction says there what is called, and one that dis read does not lead on
        return not hasattr(code[at], "target") or is_callee(code, at)
    beside = at + 1 if sys.version_info >= (3, 13) else at - 1
    return 0 <= beside < len(code) and code[beside].opname == "PUSH_NULL"


def is_called_here(code: Sequence[Any], at: int) -> bool:
    """Whether the entry of a table that an instruction gives is called at once: ``TABLE[name](x)``."""
    taker, depth = taker_of(code, at)
    if taker is None or not taker.opname.startswith("CALL") or taker.opname == "CALL_FUNCTION_EX":
        return False
    return depth == _effect(taker)[0] - (1 if (3, 11) <= sys.version_info < (3, 13) else 0)


def are_arguments(code: Sequence[Any], at: int) -> bool:
    """Whether the tuple that an instruction makes holds the arguments of a call, as in ``f(first, *items)``."""
    taker, depth = taker_of(code, at)
    return taker is not None and taker.opname == "CALL_FUNCTION_EX" and depth == 1 + (taker.arg & 1)


def _is_choice(code: Sequence[Any], at: int, jump: Any) -> bool:
    """Whether a jump by truth leads to the other side of ``a if condition else b``: right behind a jump forward."""
    side = next((place for place in range(at, len(code)) if code[place] is jump.target), 0)
    return side > at and code[side - 1].opname == "JUMP_FORWARD"


def _augmented(code: Sequence[Any], at: int) -> Any:
    """The instruction that stores the entry of ``table[key] += 1``, where one copies the table and its key for that."""
    copies = [each.opname for each in code[at : at + 2]]
    if copies != ["COPY", "COPY"] and copies[0] != "DUP_TOP_TWO":
        return None
    return next((each for each in code[at:] if each.opname == "STORE_SUBSCR"), None)


def _effect(each: Any) -> tuple[int, int]:
    """How many entries of the stack an instruction takes, and how many it leaves there."""
    name, count = each.opname, each.arg or 0
    if name in ("PRECALL", "KW_NAMES", "NOP", "RESUME"):
        return 0, 0
    if name.startswith("CALL") and name != "CALL_FUNCTION_EX":
        return count + _CALLS.get(name, 1), 1
    effect = dis.stack_effect(each.opcode, count if each.opcode >= dis.HAVE_ARGUMENT else None)
    if name.startswith(("LOAD_", "PUSH_")) and name not in ATTRIBUTES:
        return 0, effect
    if name in ("RETURN_VALUE", "POP_TOP", "STORE_FAST", "STORE_DEREF", *FILLS):
        return 1, 0
    return max(1 - effect, 0), max(1, effect)


_CALLS = {"CALL": 2, "CALL_METHOD": 2, "CALL_FUNCTION_KW": 2, "CALL_KW": 3}
"""How many entries of the stack a call takes beside its arguments: the function, what it belongs to, keywords."""
ATTRIBUTES = ("LOAD_METHOD", "LOAD_ATTR")
_MOVES = ("SWAP", "COPY", "ROT_TWO", "ROT_THREE", "DUP_TOP")
