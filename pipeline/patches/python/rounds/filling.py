"""Lists, sets and dicts of one name that grow in place by a method: they become other ones."""

from __future__ import annotations

import copy
import dis
from collections.abc import Iterable, Iterator, Sequence
from types import CodeType
from typing import Any

from ..assembly import applied, assembler, of_pair, plain_instructions, rewritten, tuple_of
from ..loops.growing import CHANGES, taking_call
from ..loops.new_lists import is_changed_dict, is_own_list
from ..methods import OWN_ENTRY, filling
from .takers import taker_of


def filled_in_place(instructions: Sequence[Any]) -> Iterable[tuple[int, list[Any]]]:
    """What takes the place of ``items.extend(more)`` on a list of one name, which then is another one; by index."""
    make = assembler().create_instruction
    for at, each in enumerate(instructions):
        if each.opname not in ("LOAD_ATTR", "LOAD_METHOD") or each.argval not in _FILLING:
            continue
        call = taking_call(instructions, at)
        if call is None or not is_own_list(instructions, at):
            continue
        yield at, [make("NOP")]
        if instructions[call - 1].opname == "PRECALL":
            yield call - 1, [make("NOP")]
        yield call, of_pair(filling(each.argval))
        yield call + 1, [make("STORE_FAST", argval=instructions[at - 1].argval)]


def with_receivers_apart(code: CodeType) -> CodeType:
    """The code with a call on each side of ``(a if condition else b).append(item)``; the same object without any."""
    if not any(each.opname == "JUMP_FORWARD" for each in dis.get_instructions(code)):
        return code
    if not any(True for _ in _shared_calls(plain_instructions(code))):
        return code
    return rewritten(code, _apart)


def _apart(instructions: list[Any]) -> list[list[Any]]:
    found = [[each] for each in instructions]
    for start, end in list(_shared_calls(instructions)):
        for at, each in enumerate(instructions):
            if each.opname == "JUMP_FORWARD" and each.target is instructions[start]:
                call = [copy.copy(part) for part in instructions[start : end + 1]]
                found[at] = [*call, assembler().create_instruction("JUMP_FORWARD", target=instructions[end + 1])]
    return found


def _shared_calls(instructions: Sequence[Any]) -> Iterator[tuple[int, int]]:
    """The calls of methods that change one of several local variables, from the method to what drops the result."""
    for start, each in enumerate(instructions):
        if each.opname not in ("LOAD_ATTR", "LOAD_METHOD") or each.argval not in CHANGES or start < 1:
            continue
        jumps = [at for at, jump in enumerate(instructions) if jump.target is each]
        forward = all(instructions[at].opname == "JUMP_FORWARD" and at < start for at in jumps)
        sides = [instructions[at - 1].opname for at in (*jumps, start)]
        end = next((at for at in range(start, len(instructions)) if instructions[at].opname == "POP_TOP"), 0)
        inside = instructions[start : end + 1]
        alike = all(part.target is None and part.exn_tab_entry is each.exn_tab_entry for part in inside)
        entered = any(jump.target is part for jump in instructions for part in inside[1:])
        if jumps and forward and {*sides} == {"LOAD_FAST"} and end and alike and not entered:
            yield start, end


def entered_in_place(instructions: Sequence[Any]) -> Iterable[tuple[int, list[Any]]]:
    """What takes the place of the store in ``items[i] = item`` on a list of one name; by index."""
    for at, each in enumerate(instructions):
        if each.opname == "LOAD_FAST" and is_changed_dict(instructions, at):
            taker = taker_of(instructions, at)[0]
            store = next(place for place in range(at, len(instructions)) if instructions[place] is taker)
            if taker.opname == "STORE_SUBSCR":
                kept = assembler().create_instruction("STORE_FAST", argval=each.argval)
                yield store, [tuple_of(3), *applied(OWN_ENTRY), kept]


_FILLING = ("extend", "update")
