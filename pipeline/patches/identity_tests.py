"""A copy of bytecode in which ``x is CONSTANT`` is a test for membership, which stand-ins answer."""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from itertools import pairwise
from types import CodeType
from typing import Any

from ...ops.runtime.user_code import is_own
from ..proxies.base import is_traced
from ..proxies.branches import BRANCH
from ..proxies.make import TracedOptional
from .python.assembly import rewritten

_SAME_SIZE = sys.version_info < (3, 13)
"""Whether both tests take as many bytes. From 3.13 on torch's assembler has to work out the jumps anew."""


def with_identity(code: CodeType) -> CodeType:
    """The code, and that of functions inside, with its tests for identity changed; the same object without any."""
    constants = tuple(with_identity(each) if isinstance(each, CodeType) else each for each in code.co_consts)
    if any(a is not b for a, b in zip(constants, code.co_consts, strict=True)):
        code = code.replace(co_consts=constants)
    tests = list(_tests(list(dis.get_instructions(code))))
    if not tests:
        return code
    return _overwritten(code, tests) if _SAME_SIZE else rewritten(code, _changed)


class _Identity:
    """Stands for a constant in ``x is CONSTANT``, which becomes ``x in …``."""

    def __init__(self, constant: Any) -> None:
        self.constant = constant

    def __contains__(self, thing: Any) -> bool:
        if is_traced(thing):
            if type(thing) is not TracedOptional and type(thing.concrete) is not type(self.constant):
                return False
            thing = thing.tracer.pin(thing, BRANCH)
        return thing is self.constant


def compares_identity(code: CodeType) -> bool:
    """Whether some code of the user's own compares two things by identity of which none is a constant."""
    pairs, named = pairwise(dis.get_instructions(code)), {"is_", "is_not"} & {*code.co_names}
    asks = bool(named) or any(b.opname == "IS_OP" and not _is_constant(a) for a, b in pairs)
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    return (asks and is_own(code.co_filename)) or any(map(compares_identity, inner))


def _is_constant(load: dis.Instruction) -> bool:
    """Whether an instruction loads a constant, or what is named like one: ``State.IDLE``."""
    named = load.opname in ("LOAD_ATTR", "LOAD_GLOBAL", "LOAD_DEREF") and str(load.argval).isupper()
    return named or load.opname == "LOAD_CONST"


def _tests(instructions: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Where a constant is loaded and compared by identity: both instructions."""
    for before, load, test in zip([None, *instructions], instructions, instructions[1:], strict=False):
        wide = _SAME_SIZE and before is not None and before.opname == "EXTENDED_ARG"
        plain = load.opname == "LOAD_CONST" and type(load.argval) in (bool, int, float, str)
        if plain and test.opname == "IS_OP" and not wide:
            yield load, test


def _overwritten(code: CodeType, tests: list[tuple[Any, Any]]) -> CodeType:
    changed, found = bytearray(code.co_code), list(code.co_consts)
    for load, test in tests:
        if len(found) < 256:
            changed[load.offset + 1] = len(found)
            changed[test.offset] = dis.opmap["CONTAINS_OP"]
            found.append(_Identity(load.argval))
    return code.replace(co_code=bytes(changed), co_consts=tuple(found))


def _changed(instructions: list[Any]) -> list[list[Any]]:
    for load, test in _tests(instructions):
        load.arg, load.argval = None, _Identity(load.argval)
        test.opname, test.opcode = "CONTAINS_OP", dis.opmap["CONTAINS_OP"]
    return [[each] for each in instructions]
