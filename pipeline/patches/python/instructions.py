"""A copy of bytecode in which operations of Python are handed over to `operations`.

Instructions are inserted before those of an operation, or take their place; torch's own assembler works out jumps,
tables of exceptions and lines anew. Code that has none of these operations stays the same object.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterable, Sequence
from types import CodeType
from typing import Any

from ....ops.runtime.user_code import is_users
from ...lists.carried import Carried
from ...lists.pieces import NAMES
from .assembly import (
    applied,
    assembler,
    constant,
    of_pair,
    plain_instructions,
    replaced_call,
    replaced_last,
    replaced_pair,
    rewritten,
    swap,
    tuple_of,
)
from .choices.choices import Choices, End, may_choose
from .choices.connectives import Connectives
from .conditions.asked_shapes import comparing
from .conditions.demanded import ASSERTED, REFUTED, raising
from .conditions.none_tests import NONE_TESTS, tests_none, with_plain_tests
from .dunders import OPERATORS
from .loops.appending import Appending
from .loops.captured import captured, uncaptured
from .loops.carrying import Carrying
from .loops.comprehensions import Comprehensions
from .loops.flow import onwards, raised_by
from .loops.growing import goes_into_loop, written
from .loops.leaving import BACK, IF_FALSE, GoingOn, loops_left_early, names_for
from .loops.nested_returns import AsBreaks, nested_returns
from .loops.new_lists import CHANGING, is_changed_dict, is_own_list
from .loops.outlined import outlined
from .methods import OF_CALLS, OF_CLASS, OWN_DICT, OWN_LIST, PIECES, RECEIVERS
from .operations import (
    ADDED,
    ADDEND,
    CALLEE,
    COLLECTED,
    CONTAINS,
    CONVERTED,
    FORMATTED,
    INDEXED,
    IS,
    IS_NOT,
    JOINED,
    KEY,
    MAP,
    MISSES,
    NOT,
    PLAIN,
    SET,
    SUBSCRIPT,
    UNITED,
    appended_to,
    conditional,
    iterated,
    noting,
)
from .rounds.conditional import as_for_loops
from .rounds.filling import entered_in_place, filled_in_place, with_receivers_apart
from .rounds.run_at_once import own
from .rounds.takers import are_arguments, is_asked, is_called_here, is_loaded_to_call, is_method_of_class
from .rounds.turning import FOLDED, LEAVABLE, LEAVE, ROUNDS, turning
from .unpacking import AS_TUPLE, GENERATED, SPREAD, starred

_CONVERSIONS = ("", "s", "r", "a")


def instrumented(code: CodeType) -> CodeType:
    """The code with its operations handed over, that of functions inside with it; what stands for a builtin stays."""
    if not is_users(code.co_filename):
        return code
    constants = tuple(instrumented(each) if isinstance(each, CodeType) else each for each in code.co_consts)
    if changed := {a: b for a, b in zip(constants, code.co_consts, strict=True) if a is not b}:
        written.update(changed)
        code = code.replace(co_consts=constants)
    code = with_receivers_apart(_uncaptured(with_plain_tests(code)))
    code = staying(as_for_loops(code, ROUNDS))
    plain = list(dis.get_instructions(code))
    filters = code.co_name == "<genexpr>" and any(each.opname in _JUMPS for each in plain)
    records = any(
        _is_operation(each.opname, each.argval)
        or is_loaded_to_call(plain, at)
        or is_method_of_class(plain, at)
        or comparing(plain, at) is not None
        for at, each in enumerate(plain)
    )
    if not (records or filters or may_choose(plain, _JUMPS)):
        return code
    return rewritten(code, lambda instructions: list(_changed(instructions, code)))


def _uncaptured(code: CodeType) -> CodeType:
    """The code with plain variables for those that functions inside only read; the same object without any."""
    if not (names := captured(code, plain_instructions(code)) if code.co_cellvars else []):
        return code
    make = assembler().create_instruction
    return rewritten(code, lambda found: uncaptured(found, names, code, make), tuple(own(name) for name in names))


def _with_breaks(code: CodeType) -> CodeType:
    """The code with breaks for returns in a loop inside of another one; the same object without any."""
    if sum(each.opname == "FOR_ITER" for each in dis.get_instructions(code)) < _OF_NESTED:
        return code
    found = nested_returns(outlined(plain_instructions(code)))
    if found is None:
        return code
    names, make = ("returned both", "value of both"), assembler().create_instruction
    return rewritten(code, lambda plain: AsBreaks(make, names).groups(plain, found), names)


_OF_NESTED = 2


def staying(code: CodeType) -> CodeType:
    """The code with loops that go on where they were left early; the same object without any."""
    if not any(each.opname == "FOR_ITER" for each in dis.get_instructions(code)):
        return code
    code = _with_breaks(code)
    loops = list(loops_left_early(outlined(plain_instructions(code))))
    if not loops:
        return code
    names, writing = names_for(len(loops)), GoingOn(assembler().create_instruction, applied, LEAVABLE, LEAVE)
    more = tuple(name for pair in names for name in pair)
    return rewritten(code, lambda found: writing.groups(found, list(loops_left_early(outlined(found))), names), more)


_OPERATIONS = frozenset(
    """BINARY_SUBSCR BINARY_SLICE STORE_SLICE FORMAT_VALUE FORMAT_SIMPLE FORMAT_WITH_SPEC CONVERT_VALUE BUILD_STRING
    CONTAINS_OP UNARY_NOT BUILD_MAP MAP_ADD BUILD_SET SET_ADD SET_UPDATE GET_ITER LIST_EXTEND LIST_TO_TUPLE
    LIST_APPEND YIELD_VALUE LOAD_ASSERTION_ERROR RAISE_VARARGS UNPACK_EX BINARY_MODULO INPLACE_MODULO IS_OP
    STORE_SUBSCR DELETE_SUBSCR DICT_UPDATE INPLACE_ADD INPLACE_OR CALL_FUNCTION_EX""".split()
)


def _is_operation(name: str, argument: Any) -> bool:
    if name in ("LOAD_ATTR", "LOAD_METHOD"):
        return argument in _RECEIVERS or argument in CHANGING
    return name in _OPERATIONS or (name == "BINARY_OP" and argument in (*_MODULO, *_IN_PLACE))


_RECEIVERS = {**RECEIVERS, **OPERATORS}
_LIST_TO_TUPLE = 6  # the argument of CALL_INTRINSIC_1 from Python 3.12 on
_MODULO = (6, 19)  # the arguments of BINARY_OP for % and %=
_IN_PLACE = (13, 20)  # those for += and |=


def _gathered(listed: Any) -> list[Any]:
    """Instructions that make the list of a loop that appends to it one of any length."""
    make = assembler().create_instruction
    return [make("LOAD_FAST", argval=listed.argval), *applied(COLLECTED), make("STORE_FAST", argval=listed.argval)]


def _turned(carried: Carried) -> list[Any]:
    """Instructions that hand over the iterator and the variables of a loop, and store what these are now."""
    make, names = assembler().create_instruction, carried.names
    copy = make("COPY", arg=1) if sys.version_info >= (3, 11) else make("DUP_TOP")
    loads = [make("LOAD_FAST", argval=name) for name in names]
    stores = [make("STORE_FAST", argval=name) for name in names]
    unpack = make("UNPACK_SEQUENCE", arg=len(names))
    return [copy, *loads, tuple_of(len(names) + 1), *applied(turning(carried)), unpack, *stores]


def _changed(instructions: Sequence[Any], code: CodeType) -> Iterable[list[Any]]:
    """For each instruction those that take its place, itself among them where it stays."""
    rounds, connectives, plain = Comprehensions(instructions, code), Connectives(instructions), outlined(instructions)
    choices = Choices(instructions, _JUMPS, connectives.jumps)
    appending = Appending(plain, code)
    carrying = Carrying(plain, code, set(appending.begins))
    fills = {**dict(filled_in_place(plain)), **dict(entered_in_place(plain))}
    for index, this in enumerate(instructions):
        if index in connectives.firsts:
            yield [*applied(connectives.firsts[index]), this]
        elif index in connectives.lasts:
            yield [*_of(this, index, instructions, rounds), *applied(connectives.lasts[index])]
        elif index in choices.jumps:
            yield [*applied(choices.jumps[index]), *_exact(), this]
        elif index in choices.ends:
            yield [*_of(this, index, instructions, rounds), *_ended(choices.ends[index])]
        elif index in fills and index not in appending.stores:
            yield fills[index]
        elif index in appending.begins:
            head, listed = appending.begins[index]
            load = assembler().create_instruction("LOAD_FAST", argval=listed.argval)
            yield [load, *of_pair(appended_to(head)), this]
        elif index in appending.stores:
            yield [*applied(KEY), this]
        elif index in carrying.begins:
            yield [*applied(FOLDED), this]
        elif index in carrying.heads:
            yield [*_turned(carrying.heads[index]), this]
        elif index in appending.ends:
            yield [*_gathered(appending.ends[index]), *_of(this, index, instructions, rounds)]
        else:
            yield _of(this, index, instructions, rounds)


def _ended(end: End) -> list[Any]:
    """Instructions after one side of a choice: they go on behind the choice, or to the next side."""
    if end.after is None:
        return applied(end.done)
    make, jump = assembler().create_instruction, BACK if end.backward else "JUMP_FORWARD"
    skip, drop = make(IF_FALSE, target=end.after), make("POP_TOP")
    return [*applied(end.done), make("UNPACK_SEQUENCE", arg=2), skip, drop, make(jump, target=end.following)]


def _of(this: Any, index: int, instructions: Sequence[Any], rounds: Comprehensions) -> list[Any]:
    name = this.opname
    match name:
        case "BINARY_SUBSCR":
            called = applied(CALLEE) if is_called_here(outlined(instructions), index) else []
            return [*replaced_pair(SUBSCRIPT), this, *called]
        case "STORE_SUBSCR" if all(each.opname != "FOR_ITER" for each in instructions):  # in loops it may fill a dict
            return [*replaced_pair(INDEXED), this]
        case "LOAD_ATTR" | "LOAD_METHOD" if this.argval not in OPERATORS and is_method_of_class(instructions, index):
            return [*applied(OF_CLASS), this]
        case "LOAD_ATTR" | "LOAD_METHOD" if this.argval in NAMES and goes_into_loop(instructions, index):
            return [*applied(PIECES), this]
        case "LOAD_ATTR" | "LOAD_METHOD" if this.argval in CHANGING and is_own_list(outlined(instructions), index):
            return [*applied(OWN_LIST), this]
        case "LOAD_FAST" if is_changed_dict(outlined(instructions), index):
            return [this, *applied(OWN_DICT)]
        case "LOAD_FAST" | "LOAD_DEREF" if is_loaded_to_call(instructions, index):
            return [this, *applied(CALLEE)]
        case "LOAD_ATTR" | "LOAD_METHOD" if this.argval in _RECEIVERS and is_asked(instructions, index, OF_CALLS):
            return [*applied(_RECEIVERS[this.argval]), this]
        case "LOAD_CONST" if tests_none(instructions, index + 1):
            return [assembler().create_instruction("NOP")]
        case "IS_OP" if tests_none(instructions, index):
            return applied(NONE_TESTS[this.arg])
        case "IS_OP" if instructions[index - 1].opname != "LOAD_CONST":
            return of_pair(IS_NOT if this.arg else IS)
        case "BINARY_OP" if this.arg in _MODULO:
            return [*replaced_pair(RECEIVERS["%"]), this]
        case "INPLACE_ADD" | "INPLACE_OR" | "BINARY_OP" if name != "BINARY_OP" or this.arg in _IN_PLACE:
            adds = name == "INPLACE_ADD" or this.arg == _IN_PLACE[0]
            return [*(applied(ADDEND) if adds else replaced_pair(UNITED)), this]
        case "BINARY_MODULO" | "INPLACE_MODULO":
            return [*replaced_pair(RECEIVERS["%"]), this]
        case "FORMAT_VALUE":
            operation = FORMATTED[_CONVERSIONS[this.arg & 3]]
            spec = [] if this.arg & 4 else [constant("")]
            return [*spec, *of_pair(operation)]
        case "FORMAT_SIMPLE":
            return [constant(""), *of_pair(FORMATTED[""])]
        case "FORMAT_WITH_SPEC":
            return of_pair(FORMATTED[""])
        case "CONVERT_VALUE":
            return applied(CONVERTED[_CONVERSIONS[this.arg]])
        case "BUILD_STRING":
            return [tuple_of(this.arg), *applied(JOINED)]
        case "COMPARE_OP" if (compared := comparing(instructions, index)) is not None:
            return of_pair(compared)
        case "CONTAINS_OP":
            return of_pair(MISSES if this.arg else CONTAINS)
        case "UNARY_NOT":
            return applied(NOT)
        case "BUILD_MAP" if this.arg:
            return [tuple_of(2 * this.arg), *applied(MAP)]
        case "MAP_ADD":
            return [*_noted(index, rounds, pair=True), swap(), *applied(KEY), swap(), this]
        case "LIST_EXTEND" | "LIST_APPEND" | "SET_UPDATE" | "SET_ADD" | "DICT_UPDATE" if this.arg == 1:
            return of_pair(ADDED[name])
        case "SET_ADD":
            return [*_noted(index, rounds), *applied(KEY), this]
        case "BUILD_SET" if this.arg:
            return [tuple_of(this.arg), *applied(SET)]
        case "LIST_APPEND" | "YIELD_VALUE" if index in rounds.results:
            return [*_noted(index, rounds), this]
        case "UNPACK_EX":
            before, after = this.arg & 0xFF, this.arg >> 8
            unpack = assembler().create_instruction("UNPACK_SEQUENCE", arg=before + 1 + after)
            return [*applied(starred(before, after)), unpack]
        case "UNPACK_SEQUENCE" if instructions[index - 1].opname.startswith("CALL"):
            return [*applied(GENERATED), this]
        case "CALL_FUNCTION_EX":
            return [*replaced_call(SPREAD, bool(this.arg & 1)), this]
        case "LIST_TO_TUPLE" | "CALL_INTRINSIC_1" if name == "LIST_TO_TUPLE" or this.arg == _LIST_TO_TUPLE:
            if are_arguments(outlined(instructions), index):
                return applied(AS_TUPLE)
            return [*applied(PLAIN), this]  # it takes the memory of what it is given for that of a list
        case "GET_ITER" if index in rounds.begins:
            return [*applied(iterated(rounds.begins[index])), this]
        case "RETURN_VALUE" if rounds.returns:
            return [*applied(COLLECTED), this]
        case "END_FOR" | "POP_TOP" if index in rounds.ends:
            return [this, *replaced_last(COLLECTED)]
        case "TO_BOOL" if instructions[index + 1].opname in ("UNARY_NOT", *_JUMPS):
            return [assembler().create_instruction("NOP")]  # the stand-in of `not`, or of the jump, sees the thing
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
    falls = this.opname.endswith("_TRUE")  # where the code goes on by falling through
    after, target = (onwards(instructions, each) for each in (instructions[index + 1], this.target))
    wanted: list[Any] = []
    if id(target) in rounds.heads:
        wanted = applied(conditional(not falls, rounds.heads[id(target)]))
    elif id(after) in rounds.heads:
        wanted = applied(conditional(falls, rounds.heads[id(after)]))
    elif (after if falls else target).opname == "LOAD_ASSERTION_ERROR":
        wanted = applied(ASSERTED)
    elif not falls and after.opname == "LOAD_ASSERTION_ERROR":
        wanted = applied(REFUTED)
    elif error := raised_by(instructions, after):
        wanted = applied(raising(error, not falls))
    elif error := raised_by(instructions, target):
        wanted = applied(raising(error, falls))
    return [*wanted, *_exact(), this]


def _exact() -> list[Any]:
    """What a jump needs before it: from 3.13 on it takes True and False only."""
    return [assembler().create_instruction("TO_BOOL")] if sys.version_info >= (3, 13) else []


def _noted(index: int, rounds: Comprehensions, pair: bool = False) -> list[Any]:
    """Instructions that take note of a result of a comprehension with several loops."""
    place = rounds.results.get(index)
    if place is None:
        return []
    return replaced_pair(noting(place, pair)) if pair else applied(noting(place))
