"""How changed bytecode is put together: torch's own assembler works out jumps, tables of exceptions and lines anew.

An operation takes the uppermost entries of the stack as the key of a subscript: one form of call for all Pythons.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Sequence
from functools import cache
from types import CodeType
from typing import Any


def rewritten(
    code: CodeType, changes: Callable[[list[Any]], list[list[Any]]], variables: tuple[str, ...] = ()
) -> CodeType:
    """The code with other instructions: for each one of its own, those that take its place; and more variables."""
    instructions = plain_instructions(code)
    changed = changes(instructions)
    _redirect_jumps(instructions, changed)
    return _assembled(code, [each for group in changed for each in group], variables)


def plain_instructions(code: CodeType) -> list[Any]:
    """The instructions of some code, two for each that does two things, as there were before Python 3.12."""
    made = assembler()
    instructions: list[Any] = made.cleaned_instructions(code, True)
    made.propagate_line_nums(instructions)
    _split_returns(instructions)
    _split_slices(instructions)
    if sys.version_info >= (3, 13):
        made.remove_fused_load_store(instructions)  # the flow of variables is read from single loads and stores
    return instructions


def _split_returns(instructions: list[Any]) -> None:
    """Makes two instructions of each that returns a constant."""
    for index in reversed(range(len(instructions))):
        each = instructions[index]
        if each.opname == "RETURN_CONST":
            returns = assembler().create_instruction("RETURN_VALUE")
            returns.exn_tab_entry, returns.positions, returns.starts_line = each.exn_tab_entry, each.positions, None
            each.opname, each.opcode = "LOAD_CONST", dis.opmap["LOAD_CONST"]
            instructions.insert(index + 1, returns)


def _split_slices(instructions: list[Any]) -> None:
    """Makes two instructions of each that takes or stores a slice: a subscript is handed over where it is traced."""
    for index in reversed(range(len(instructions))):
        each = instructions[index]
        if each.opname in ("BINARY_SLICE", "STORE_SLICE"):
            asks = assembler().create_instruction(each.opname.replace("SLICE", "SUBSCR"))
            asks.exn_tab_entry, asks.positions, asks.starts_line = each.exn_tab_entry, each.positions, None
            for entry in [other.exn_tab_entry for other in instructions if other.exn_tab_entry is not None]:
                entry.end = asks if entry.end is each else entry.end
            each.opname, each.opcode, each.arg, each.argval = "BUILD_SLICE", dis.opmap["BUILD_SLICE"], 2, 2
            instructions.insert(index + 1, asks)


_MOST_MORE = 4
"""The entries of the stack that inserted instructions need at most, beside the variables that a loop carries."""


def _assembled(code: CodeType, instructions: list[Any], variables: tuple[str, ...]) -> CodeType:
    """The code of some instructions; all else is that of the code that they were made from."""
    made = assembler()
    keys = made.get_code_keys()
    if variables:  # the numbers of all variables are worked out anew
        names = (*code.co_varnames, *variables)
        code = code.replace(co_varnames=names, co_nlocals=len(names))
    options = {key: getattr(code, key) for key in keys}
    opargs = code._varname_from_oparg if sys.version_info >= (3, 11) else None  # type: ignore[attr-defined]  # CPython's
    made.fix_vars(instructions, options, varname_from_oparg=opargs)
    changing = True
    while changing:
        made.update_offsets(instructions)
        made.devirtualize_jumps(instructions)
        changing = bool(made.fix_extended_args(instructions))
    made.update_offsets(instructions)  # of the last prefixes, where an entry of the table of exceptions may begin
    made.remove_extra_line_nums(instructions)
    options["co_code"], options["co_linetable"] = made.assemble(instructions, code.co_firstlineno)
    options["co_stacksize"] = code.co_stacksize + _MOST_MORE + code.co_nlocals
    if sys.version_info >= (3, 11):
        table = made.compute_exception_table(instructions)
        options["co_exceptiontable"] = made.assemble_exception_table(table)
    return CodeType(*[options[key] for key in keys])


@cache
def assembler() -> Any:
    """Torch's own assembler."""
    from torch._dynamo import bytecode_transformation  # its import takes two seconds of processor time

    return bytecode_transformation


def applied(operation: Any) -> list[Any]:
    """Instructions that replace the uppermost entry of the stack by what an operation makes of it."""
    made = assembler()
    swap = made.create_instruction("SWAP", arg=2) if sys.version_info >= (3, 11) else made.create_instruction("ROT_TWO")
    return [constant(operation), swap, made.create_instruction("BINARY_SUBSCR")]


def constant(thing: Any) -> Any:
    """The instruction that loads a constant."""
    return assembler().create_instruction("LOAD_CONST", argval=thing)


def tuple_of(count: int) -> Any:
    """The instruction that makes a tuple of the uppermost entries."""
    return assembler().create_instruction("BUILD_TUPLE", arg=count)


def of_pair(operation: Any) -> list[Any]:
    """Instructions that replace the two uppermost entries by one."""
    return [tuple_of(2), *applied(operation)]


def replaced_pair(operation: Any) -> list[Any]:
    """Instructions that replace the two uppermost entries by two others."""
    return [*of_pair(operation), assembler().create_instruction("UNPACK_SEQUENCE", arg=2)]


def replaced_call(operation: Any, named: bool) -> list[Any]:
    """Instructions that replace a function and the tuple, and the dict, of what it is called with by others.

    From Python 3.13 on a NULL lies behind the function, which no tuple can hold: it goes below it meanwhile.
    """
    made, count = assembler(), 3 if named else 2
    beside = range(count, count + 2) if sys.version_info >= (3, 13) else range(0)
    below = [made.create_instruction("SWAP", arg=depth) for depth in beside]
    back = [made.create_instruction("SWAP", arg=depth) for depth in reversed(beside)]
    return [*below, tuple_of(count), *applied(operation), made.create_instruction("UNPACK_SEQUENCE", arg=count), *back]


def replaced_last(operation: Any) -> list[Any]:
    """As `_applied`, with the entry on the stack until the end: a handler of exceptions counts on it."""
    made = assembler()
    copy, pop = made.create_instruction("COPY", arg=1), made.create_instruction("POP_TOP")
    return [copy, *applied(operation), swap(), pop]


def swap() -> Any:
    """The instruction that exchanges the two uppermost entries."""
    made = assembler()
    return made.create_instruction("SWAP", arg=2) if sys.version_info >= (3, 11) else made.create_instruction("ROT_TWO")


def _redirect_jumps(instructions: Sequence[Any], changed: Sequence[list[Any]]) -> None:
    """Jumps to an instruction go to the first of those that take its place, unless it is new; so do handlers."""
    firsts = {id(before): (after[0], after[-1]) for before, after in zip(instructions, changed, strict=True)}
    for before, group in zip(instructions, changed, strict=True):
        for each in group:
            if each.target is not None:
                each.target = firsts.get(id(each.target), (each.target,))[0]
            each.starts_line = before.starts_line if each is group[0] else None
            each.positions = before.positions
            if each is not before and before.exn_tab_entry is not None:
                each.exn_tab_entry = before.exn_tab_entry
    entries = {id(each.exn_tab_entry): each.exn_tab_entry for each in instructions if each.exn_tab_entry is not None}
    for entry in entries.values():
        entry.start, entry.end = firsts[id(entry.start)][0], firsts[id(entry.end)][1]
        entry.target = firsts[id(entry.target)][0]
