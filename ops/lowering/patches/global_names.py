"""Other names for the globals that a function reads, so that no other code of its module gets another object."""

from __future__ import annotations

import dis
import sys
from collections.abc import Mapping
from types import CodeType

_LOAD = dis.opmap["LOAD_GLOBAL"]
_EXTENDED = dis.opmap["EXTENDED_ARG"]
_IS = dis.opmap["IS_OP"]
_CACHE = dis.opmap.get("CACHE")  # what an instruction keeps of its last run
_SHIFT = 1 if sys.version_info >= (3, 11) else 0  # the lowest bit of the argument then says that a call follows


def renamed(code: CodeType, names: Mapping[str, str]) -> CodeType | None:
    """The code with other names for some globals, also in the functions that are written inside it.

    What is compared by `is`, as in ``type(x) is int``, keeps its name.

    Args:
        code: of a function.
        names: the new name of each global.

    Returns:
        None where an instruction is too short for the number of the new name.
    """
    before = list(code.co_names)
    after = [*before, *names.values()]
    if len(after) << _SHIFT > 255:
        return None
    bytecode = bytearray(code.co_code)
    for place in range(0, len(bytecode), 2):
        extended = place and bytecode[place - 2] == _EXTENDED
        if bytecode[place] == _LOAD and not extended and not _is_compared(code, place):
            index, call = bytecode[place + 1] >> _SHIFT, bytecode[place + 1] & _SHIFT
            if before[index] in names:
                bytecode[place + 1] = after.index(names[before[index]]) << _SHIFT | call
    inner = {id(const): renamed(const, names) for const in _inside(code)}
    if None in inner.values():
        return None
    constants = tuple(inner.get(id(const), const) for const in code.co_consts)
    return code.replace(co_code=bytes(bytecode), co_names=tuple(after), co_consts=constants)


def _is_compared(code: CodeType, place: int) -> bool:
    following = (each for each in code.co_code[place + 2 :: 2] if each != _CACHE)
    return next(following, None) == _IS


def _inside(code: CodeType) -> list[CodeType]:
    return [const for const in code.co_consts if isinstance(const, CodeType)]
