"""A copy of bytecode in which operations of Python are handed over to `operations`.

Instructions are inserted before those of an operation, or take their place; torch's own assembler works out jumps,
tables of exceptions and lines anew. Code that has none of these operations stays the same object.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from types import CodeType
from typing import Any

from ....ops.runtime.user_code import is_users
from ...lists.carried import Carried
from ...lists.pieces import NAMES
from .choices import EITHER, Choices, Defaults, may_choose
from .dunders import OPERATORS
from .loops.appending import Appending
from .loops.carrying import Carrying
from .loops.comprehensions import Comprehensions
from .loops.flow import raised_by
from .loops.growing import goes_into_loop
from .loops.leaving import GoingOn, loops_left_early, names_for
from .methods import PIECES, RECEIVERS
from .none_tests import NONE_TESTS, tests_call
from .operations import (
    APPENDED,
    ASSERTED,
    COLLECTED,
    CONTAINS,
    CONVERTED,
    EXTENDED,
    FOLDED,
    FORMATTED,
    JOINED,
    KEY,
    LEAVABLE,
    LEAVE,
    MAP,
    MISSES,
    NOT,
    PLAIN,
    SUBSCRIPT,
    appended_to,
    conditional,
    iterated,
    raising,
    turned,
)

_CONVERSIONS = ("", "s", "r", "a")


def instrumented(code: CodeType) -> CodeType:
    """The code with its operations handed over, that of functions inside with it; what stands for a builtin stays."""
    if not is_users(code.co_filename):
        return code
    constants = tuple(instrumented(each) if isinstance(each, CodeType) else each for each in code.co_consts)
    if any(a is not b for a, b in zip(constants, code.co_consts, strict=True)):
        code = code.replace(co_consts=constants)
    code = staying(code)
    plain = list(dis.get_instructions(code))
    filters = code.co_name == "<genexpr>" and any(each.opname in _JUMPS for each in plain)
    has_operation = any(_is_operation(each.opname, each.argval) for each in plain)
    if not (has_operation or filters or may_choose(plain, _JUMPS)):
        return code
    return rewritten(code, lambda instructions: list(_changed(instructions, code)))


def rewritten(
    code: CodeType, changes: Callable[[list[Any]], list[list[Any]]], variables: tuple[str, ...] = ()
) -> CodeType:
    """The code with other instructions: for each one of its own, those that take its place; and more variables."""
    made = _assembler()
    instructions = made.cleaned_instructions(code, True)
    made.propagate_line_nums(instructions)
    if sys.version_info >= (3, 13):
        made.remove_fused_load_store(instructions)  # the flow of variables is read from single loads and stores
    changed = changes(instructions)
    _redirect_jumps(instructions, changed)
    return _assembled(code, [each for group in changed for each in group], variables)


def staying(code: CodeType) -> CodeType:
    """The code with loops that go on where they were left early; the same object without any."""
    if not any(each.opname == "FOR_ITER" for each in dis.get_instructions(code)):
        return code
    made = _assembler()
    instructions = made.cleaned_instructions(code, True)
    if sys.version_info >= (3, 13):
        made.remove_fused_load_store(instructions)
    loops = list(loops_left_early(instructions))
    if not loops:
        return code
    names, writing = names_for(len(loops)), GoingOn(made.create_instruction, _applied, LEAVABLE, LEAVE)
    more = tuple(name for pair in names for name in pair)
    return rewritten(code, lambda found: writing.groups(found, list(loops_left_early(found)), names), more)


_MOST_MORE = 4
"""The entries of the stack that inserted instructions need at most, beside the variables that a loop carries."""


def _assembled(code: CodeType, instructions: list[Any], variables: tuple[str, ...]) -> CodeType:
    """The code of some instructions; all else is that of the code that they were made from."""
    made = _assembler()
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
    made.remove_extra_line_nums(instructions)
    options["co_code"], options["co_linetable"] = made.assemble(instructions, code.co_firstlineno)
    options["co_stacksize"] = code.co_stacksize + _MOST_MORE + code.co_nlocals
    if sys.version_info >= (3, 11):
        table = made.compute_exception_table(instructions)
        options["co_exceptiontable"] = made.assemble_exception_table(table)
    return CodeType(*[options[key] for key in keys])


@cache
def _assembler() -> Any:
    from torch._dynamo import bytecode_transformation  # its import takes two seconds of processor time

    return bytecode_transformation


_OPERATIONS = frozenset(
    """BINARY_SUBSCR FORMAT_VALUE FORMAT_SIMPLE FORMAT_WITH_SPEC CONVERT_VALUE BUILD_STRING CONTAINS_OP UNARY_NOT
    BUILD_MAP MAP_ADD SET_ADD GET_ITER LIST_EXTEND LIST_TO_TUPLE LIST_APPEND LOAD_ASSERTION_ERROR RAISE_VARARGS
    BINARY_MODULO INPLACE_MODULO IS_OP""".split()
)


def _is_operation(name: str, argument: Any) -> bool:
    if name in ("LOAD_ATTR", "LOAD_METHOD"):
        return argument in _RECEIVERS
    return name in _OPERATIONS or (name == "BINARY_OP" and argument in _MODULO)


_RECEIVERS = {**RECEIVERS, **OPERATORS}
_MODULO = (6, 19)  # the arguments of BINARY_OP for % and %=


def _applied(operation: Any) -> list[Any]:
    """Instructions that replace the uppermost entry of the stack by what an operation makes of it."""
    made = _assembler()
    swap = made.create_instruction("SWAP", arg=2) if sys.version_info >= (3, 11) else made.create_instruction("ROT_TWO")
    return [_constant(operation), swap, made.create_instruction("BINARY_SUBSCR")]


def _constant(thing: Any) -> Any:
    return _assembler().create_instruction("LOAD_CONST", argval=thing)


def _tuple(count: int) -> Any:
    return _assembler().create_instruction("BUILD_TUPLE", arg=count)


def _of_pair(operation: Any) -> list[Any]:
    """Instructions that replace the two uppermost entries by one."""
    return [_tuple(2), *_applied(operation)]


def _replaced_pair(operation: Any) -> list[Any]:
    """Instructions that replace the two uppermost entries by two others."""
    return [*_of_pair(operation), _assembler().create_instruction("UNPACK_SEQUENCE", arg=2)]


def _replaced_last(operation: Any) -> list[Any]:
    """As `_applied`, with the entry on the stack until the end: a handler of exceptions counts on it."""
    made = _assembler()
    copy, pop = made.create_instruction("COPY", arg=1), made.create_instruction("POP_TOP")
    return [copy, *_applied(operation), _swap(), pop]


def _gathered(listed: Any) -> list[Any]:
    """Instructions that make the list of a loop that appends to it one of any length."""
    make = _assembler().create_instruction
    return [make("LOAD_FAST", argval=listed.argval), *_applied(COLLECTED), make("STORE_FAST", argval=listed.argval)]


def _turned(carried: Carried) -> list[Any]:
    """Instructions that hand over the iterator and the variables of a loop, and store what these are now."""
    make, names = _assembler().create_instruction, carried.names
    copy = make("COPY", arg=1) if sys.version_info >= (3, 11) else make("DUP_TOP")
    loads = [make("LOAD_FAST", argval=name) for name in names]
    stores = [make("STORE_FAST", argval=name) for name in names]
    unpack = make("UNPACK_SEQUENCE", arg=len(names))
    return [copy, *loads, _tuple(len(names) + 1), *_applied(turned(carried)), unpack, *stores]


def _swap() -> Any:
    made = _assembler()
    return made.create_instruction("SWAP", arg=2) if sys.version_info >= (3, 11) else made.create_instruction("ROT_TWO")


def _changed(instructions: Sequence[Any], code: CodeType) -> Iterable[list[Any]]:
    """For each instruction those that take its place, itself among them where it stays."""
    rounds, choices = Comprehensions(instructions, code), Choices(instructions, _JUMPS)
    appending, defaults = Appending(instructions), Defaults(instructions)
    carrying = Carrying(instructions, code, set(appending.begins))
    for index, this in enumerate(instructions):
        if index in defaults.ends:
            load = defaults.ends[index]
            yield [_assembler().create_instruction(load.opname, argval=load.argval), *_of_pair(EITHER)]
        elif index in defaults.dropped:
            yield [_assembler().create_instruction("NOP")]
        elif index in choices.jumps:
            yield [*_applied(choices.jumps[index]), *_exact(), this]
        elif index in choices.sides:
            side = _applied(choices.sides[index].side)
            returned = this.opname == "RETURN_CONST"
            made = [_constant(this.argval), *side, _assembler().create_instruction("RETURN_VALUE")]
            yield made if returned else [this, *side]
        elif index in appending.begins:
            head, listed = appending.begins[index]
            load = _assembler().create_instruction("LOAD_FAST", argval=listed.argval)
            yield [load, *_of_pair(appended_to(head)), this]
        elif index in appending.stores:
            yield [*_applied(KEY), this]
        elif index in carrying.begins:
            yield [*_applied(FOLDED), this]
        elif index in carrying.heads:
            yield [*_turned(carrying.heads[index]), this]
        elif index in appending.ends:
            yield [*_gathered(appending.ends[index]), *_of(this, index, instructions, rounds)]
        else:
            yield _of(this, index, instructions, rounds)


def _of(this: Any, index: int, instructions: Sequence[Any], rounds: Comprehensions) -> list[Any]:
    name = this.opname
    match name:
        case "BINARY_SUBSCR":
            return [*_replaced_pair(SUBSCRIPT), this]
        case "LOAD_ATTR" | "LOAD_METHOD" if this.argval in NAMES and goes_into_loop(instructions, index):
            return [*_applied(PIECES), this]
        case "LOAD_ATTR" | "LOAD_METHOD" if this.argval in _RECEIVERS:
            return [*_applied(_RECEIVERS[this.argval]), this]
        case "LOAD_CONST" if tests_call(instructions, index + 1):
            return [_assembler().create_instruction("NOP")]
        case "IS_OP" if tests_call(instructions, index):
            return _applied(NONE_TESTS[this.arg])
        case "BINARY_OP" if this.arg in _MODULO:
            return [*_replaced_pair(RECEIVERS["%"]), this]
        case "BINARY_MODULO" | "INPLACE_MODULO":
            return [*_replaced_pair(RECEIVERS["%"]), this]
        case "FORMAT_VALUE":
            operation = FORMATTED[_CONVERSIONS[this.arg & 3]]
            spec = [] if this.arg & 4 else [_constant("")]
            return [*spec, *_of_pair(operation)]
        case "FORMAT_SIMPLE":
            return [_constant(""), *_of_pair(FORMATTED[""])]
        case "FORMAT_WITH_SPEC":
            return _of_pair(FORMATTED[""])
        case "CONVERT_VALUE":
            return _applied(CONVERTED[_CONVERSIONS[this.arg]])
        case "BUILD_STRING":
            return [_tuple(this.arg), *_applied(JOINED)]
        case "CONTAINS_OP":
            return _of_pair(MISSES if this.arg else CONTAINS)
        case "UNARY_NOT":
            return _applied(NOT)
        case "BUILD_MAP" if this.arg:
            return [_tuple(2 * this.arg), *_applied(MAP)]
        case "MAP_ADD":
            return [_swap(), *_applied(KEY), _swap(), this]
        case "SET_ADD":
            return [*_applied(KEY), this]
        case "LIST_EXTEND" | "LIST_APPEND" if this.arg == 1:
            return _of_pair(EXTENDED if name == "LIST_EXTEND" else APPENDED)
        case "LIST_TO_TUPLE":
            return [*_applied(PLAIN), this]
        case "GET_ITER" if index in rounds.begins:
            return [*_applied(iterated(rounds.begins[index])), this]
        case "RETURN_VALUE" if rounds.returns:
            return [*_applied(COLLECTED), this]
        case "END_FOR" | "POP_TOP" if index in rounds.ends:
            return [this, *_replaced_last(COLLECTED)]
        case "TO_BOOL" if instructions[index + 1].opname in ("UNARY_NOT", *_JUMPS):
            return [
                _assembler().create_instruction("NOP")
            ]  # the stand-in of `not`, or of the jump, sees the thing itself
        case "COMPARE_OP" if _TO_BOOL and this.arg & _TO_BOOL:
            this.arg, this.argval = this.arg & ~_TO_BOOL, None
            return [this]
    return _jump(this, index, instructions, rounds) if name in _JUMPS else [this]


_JUMPS = tuple(
    f"{prefix}{truth}"
    for prefix in ("POP_JUMP_IF_", "POP_JUMP_FORWARD_IF_", "POP_JUMP_BACKWARD_IF_")
    for truth in ("TRUE", "FALSE")
)
_TO_BOOL = 16 if sys.version_info >= (3, 13) else 0  # the bit of a comparison that makes a bool of its result


def _jump(this: Any, index: int, instructions: Sequence[Any], rounds: Comprehensions) -> list[Any]:
    """A jump by truth: by the condition of a comprehension, by that of an assertion, or any other."""
    after, falls = instructions[index + 1], this.opname.endswith("_TRUE")  # where the code goes on by falling through
    wanted: list[Any] = []
    if id(this.target) in rounds.heads:
        wanted = _applied(conditional(not falls, rounds.heads[id(this.target)]))
    elif after.target is not None and id(after.target) in rounds.heads and after.opname.startswith("JUMP"):
        wanted = _applied(conditional(falls, rounds.heads[id(after.target)]))
    elif (after if falls else this.target).opname == "LOAD_ASSERTION_ERROR":
        wanted = _applied(ASSERTED)
    elif error := raised_by(instructions, index + 1):
        wanted = _applied(raising(error, not falls))
    elif error := raised_by(instructions, next(at for at, each in enumerate(instructions) if each is this.target)):
        wanted = _applied(raising(error, falls))
    return [*wanted, *_exact(), this]


def _exact() -> list[Any]:
    """What a jump needs before it: from 3.13 on it takes True and False only."""
    return [_assembler().create_instruction("TO_BOOL")] if sys.version_info >= (3, 13) else []


def _redirect_jumps(instructions: Sequence[Any], changed: Sequence[list[Any]]) -> None:
    """Jumps to an instruction go to the first of those that take its place; so do the tables of exceptions."""
    firsts = {id(before): (after[0], after[-1]) for before, after in zip(instructions, changed, strict=True)}
    for before, group in zip(instructions, changed, strict=True):
        for each in group:
            if each.target is not None:
                each.target = firsts[id(each.target)][0]
            each.starts_line = before.starts_line if each is group[0] else None
            each.positions = before.positions
            if each is not before and before.exn_tab_entry is not None:
                each.exn_tab_entry = before.exn_tab_entry
    entries = {id(each.exn_tab_entry): each.exn_tab_entry for each in instructions if each.exn_tab_entry is not None}
    for entry in entries.values():
        entry.start, entry.end = firsts[id(entry.start)][0], firsts[id(entry.end)][1]
        entry.target = firsts[id(entry.target)][0]
