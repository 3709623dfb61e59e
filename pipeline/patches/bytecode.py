"""Whether bytecode calls the global that it loads, on Python 3.10 to 3.13.

On 3.13 the instruction says so. On 3.11 and 3.12 it says that a call's callee begins there, which in
``{float: a}[kind](x)`` is a table that holds the global; on 3.10 it says nothing. There the stack is followed from the
load, along every branch, until an instruction takes the entry, which has to be a call of just that entry. Where an
instruction's reads are not known exactly they count as one more than they are, so that doubt means "not called".
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Sequence

SAYS_CALLEE = sys.version_info >= (3, 11)
"""Whether the lowest bit of LOAD_GLOBAL's argument says that a callee begins there, the others its index."""

_READS = {
    "EXTENDED_ARG": 0, "NOP": 0, "KW_NAMES": 0,
    "DUP_TOP": 1, "DUP_TOP_TWO": 2, "ROT_TWO": 2, "ROT_THREE": 3, "ROT_FOUR": 4,
    "POP_TOP": 1, "STORE_FAST": 1, "STORE_DEREF": 1, "STORE_GLOBAL": 1,
    "LOAD_ATTR": 1, "LOAD_METHOD": 1, "LOAD_SUPER_ATTR": 3, "UNPACK_SEQUENCE": 1, "UNPACK_EX": 1, "FOR_ITER": 1,
}  # fmt: skip
"""Instructions -> how many entries they read, where their effect on the stack does not show it."""

_CALL = "PRECALL" if sys.version_info[:2] == (3, 11) else "CALL"  # on 3.11 CALL is only the second half of a call


def called(instructions: Sequence[dis.Instruction], index: int) -> bool:
    """Whether the LOAD_GLOBAL at an index of a function's instructions loads something to call it."""
    if SAYS_CALLEE and (not (instructions[index].arg or 0) & 1 or sys.version_info >= (3, 13)):
        return bool((instructions[index].arg or 0) & 1)
    positions = {instruction.offset: position for position, instruction in enumerate(instructions)}
    waiting, seen = [(index + 1, 1)], set()
    while waiting:
        at, height = waiting.pop()  # the height of the stack, counted from the loaded global on
        if (at, height) in seen:
            continue
        seen.add((at, height))
        this = instructions[at]
        if _call(this) == height:
            continue
        if _reads(this) >= height:
            return False
        if this.opcode in dis.hasjrel or this.opcode in dis.hasjabs:
            waiting.append((positions[this.argval], height + _effect(this, jump=True)))
        if not this.opname.startswith(("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_ABSOLUTE")):
            waiting.append((at + 1, height + _effect(this, jump=False)))
    return True


def _effect(this: dis.Instruction, jump: bool) -> int:
    return dis.stack_effect(this.opcode, this.arg, jump=jump)


def _call(this: dis.Instruction) -> int | None:
    """How many entries a call reads from its callee on; None for what is no call."""
    if this.opname in (_CALL, "CALL_FUNCTION"):
        return (this.arg or 0) + 1
    if this.opname == "CALL_FUNCTION_KW":
        return (this.arg or 0) + 2
    return (this.arg or 0) % 2 + 2 if this.opname == "CALL_FUNCTION_EX" else None


def _reads(this: dis.Instruction) -> int:
    """How many entries an instruction reads, or more."""
    if this.opname in ("COPY", "SWAP"):
        return this.arg or 0
    if this.opcode in dis.hasjrel or this.opcode in dis.hasjabs:
        return 1
    return _READS.get(this.opname, _call(this) or 1 - _effect(this, jump=False))
