"""Whether the hash of a value of the run is asked by a function with `functools.lru_cache` that the user calls.

Such a cache makes a key of its arguments before it computes. A stand-in that gives it a hash of its own each time is
in no cache, so the function computes, and the recording sees what; the caches of a recorded function that hold a
stand-in are emptied afterwards. A dict that asks needs the value itself. The two differ by the callee only, which is
found in the user's bytecode: the call that runs, and back from it the instruction that loaded what it calls. Where one
of them is not known for certain, the answer is no.
"""

from __future__ import annotations

import dis
import functools
import inspect
import itertools
import sys
from collections.abc import Sequence
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

from ....ops.runtime.user_code import is_users

_CACHE = functools._lru_cache_wrapper
_FRESH = itertools.count(1)
_MISSING = object()
_VARIABLES = ("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_DEREF", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_CLOSURE")
_METHODS = ("LOAD_METHOD", "LOAD_ATTR")
_WRITTEN = {"LOAD_METHOD": 2, "COPY": 1, "ROT_TWO": 2, "ROT_THREE": 3, "ROT_FOUR": 4, "DUP_TOP": 2, "DUP_TOP_TWO": 4}
"""Instructions -> how many entries they write, where their effect on the stack does not show it."""
_ONE_OF_MANY = ("BINARY_", "BUILD_", "CALL", "COMPARE_", "CONTAINS_", "IS_OP", "UNARY_", "LIST_", "FORMAT_")
"""Beginnings of instructions that read some entries and write one."""

_JUMPS = frozenset([*dis.hasjrel, *dis.hasjabs])


def hash_for_cache(frame: FrameType) -> int | None:
    """A hash that nothing else has, where a cache asks for it; None where anything else does.

    Args:
        frame: of the code in which a hash is asked for.
    """
    if not is_users(frame.f_code.co_filename):
        return None
    code = _instructions(frame.f_code)
    at = next((place for place, each in enumerate(code) if each.offset == frame.f_lasti), None)
    entries = None if at is None else _entries(code[at])
    if at is None or entries is None or not is_cache(_value(frame, code, at, entries)):
        return None
    return hash((next(_FRESH), id(_FRESH)))


def is_cache(thing: Any) -> bool:
    """Whether it computes in a function of Python's, which has a frame of its own."""
    thing = thing.__func__ if isinstance(thing, MethodType | staticmethod | classmethod) else thing
    return type(thing) is _CACHE and type(getattr(thing, "__wrapped__", None)) is FunctionType


@functools.lru_cache(256)
def _instructions(code: CodeType) -> Sequence[dis.Instruction]:
    return tuple(dis.get_instructions(code))


def _entries(call: dis.Instruction) -> int | None:
    """How many entries of the stack a call takes, its callee included; None where it is no call."""
    more = int(sys.version_info >= (3, 13))  # there what is pushed beside the callee lies upon it
    match call.opname:
        case "CALL" | "CALL_FUNCTION" | "CALL_METHOD":
            return (call.arg or 0) + 1 + more
        case "CALL_KW" | "CALL_FUNCTION_KW":
            return (call.arg or 0) + 2 + more
        case "CALL_FUNCTION_EX":
            return (call.arg or 0) % 2 + 2 + more
    return None


def _value(frame: FrameType, code: Sequence[dis.Instruction], at: int, entries: int) -> Any:
    """What lies so many entries deep before an instruction; `_MISSING` where that is not known for certain."""
    place = _writer(code, at, entries)
    if place is None:
        return _MISSING
    this = code[place]
    if this.opname in _VARIABLES:
        found = frame.f_locals.get(this.argval, _MISSING) if this.opname != "LOAD_GLOBAL" else _MISSING
        return frame.f_globals.get(this.argval, _MISSING) if found is _MISSING else found
    if this.opname in _METHODS:
        owner = _value(frame, code, place, 1)
        return _MISSING if owner is _MISSING else _attribute(owner, str(this.argval))
    return _MISSING


def _attribute(owner: Any, name: str) -> Any:
    """An attribute that no code of the user's gives."""
    kind = type(owner)
    if isinstance(owner, ModuleType):
        return vars(owner).get(name, _MISSING)
    base: type = type if isinstance(owner, type) else object
    if kind.__getattribute__ is not base.__getattribute__:
        return _MISSING
    found = inspect.getattr_static(owner, name, _MISSING)
    if isinstance(found, staticmethod | classmethod) or type(found) is _CACHE:
        return found
    return _MISSING if hasattr(type(found), "__get__") else found


def _writer(code: Sequence[dis.Instruction], at: int, entries: int) -> int | None:
    """The place of the instruction that wrote an entry; None where it is not certain."""
    for place in range(at - 1 - (code[at - 1].opname == "PRECALL" and code[at].opname == "CALL"), -1, -1):
        this = code[place]
        if code[place + 1].is_jump_target or this.opcode in _JUMPS or this.opname == "UNPACK_EX":
            return None
        effect = dis.stack_effect(this.opcode, this.arg)
        if entries <= _written(this, effect):
            return place
        entries -= effect
    return None


def _written(this: dis.Instruction, effect: int) -> int:
    """How many entries an instruction writes, or more."""
    if this.opname in _WRITTEN:
        return _WRITTEN[this.opname]
    if this.opname in ("SWAP", "UNPACK_SEQUENCE", "ROT_N"):
        return this.arg or 0
    if this.opname == "LOAD_ATTR":
        return effect + 1
    return 1 if this.opname.startswith(_ONE_OF_MANY) else max(effect, 0)
