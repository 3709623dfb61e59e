"""Methods that change a new list, and are asked of its class: ``list.append(out, x)`` as ``out.append(x)``.

So a loop that grows a list, a set or a dict is found in either way of writing. The class must be Python's own, and the
container one that was made under this name: of a subclass, which may have its own method, nothing is changed.
"""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import partial
from types import CodeType
from typing import Any

from ..assembly import assembler, plain_instructions, rewritten
from ..loops.growing import CHANGES
from ..loops.new_lists import stores_new_list
from .takers import is_method_of_class, place_of, taker_of

_CLASSES = ("list", "dict", "set")
_CALLS = ("CALL", "CALL_METHOD")


def with_bound_calls(code: CodeType, known: Mapping[str, Any]) -> CodeType:
    """The code with such calls written as those of the container, that of functions inside, too.

    Args:
        code: of a function.
        known: what its global names mean.
    """
    constants = tuple(with_bound_calls(c, known) if isinstance(c, CodeType) else c for c in code.co_consts)
    if any(a is not b for a, b in zip(constants, code.co_consts, strict=True)):
        code = code.replace(co_consts=constants)
    classes = {name for name in _CLASSES if name in code.co_names and known.get(name) is getattr(builtins, name)}
    if not classes or not any(name in code.co_names for name in CHANGES):
        return code
    given = inspect.getargs(code)
    names = {*given.args, given.varargs, given.varkw}
    if not any(True for _ in _calls(plain_instructions(code), classes, names)):
        return code
    return rewritten(code, partial(_bound, classes=classes, given=names))


def _bound(instructions: list[Any], classes: set[str], given: Set[str | None]) -> list[list[Any]]:
    found = [[each] for each in instructions]
    for at, call in list(_calls(instructions, classes, given)):
        _, method, receiver = instructions[at : at + 3]
        for each in instructions[call - (instructions[call - 1].opname == "PRECALL") : call + 1]:
            each.arg, each.argval = each.arg - 1, each.arg - 1
        found[at : at + 3] = [[assembler().create_instruction("NOP")], [receiver], [method]]
    return found


def _calls(code: Sequence[Any], classes: set[str], given: Set[str | None]) -> Iterator[tuple[int, int]]:
    """Where such a class is loaded, and where the method is called."""
    for at in range(len(code) - 2):
        asked, receiver = code[at + 1], code[at + 2]
        if code[at].opname != "LOAD_GLOBAL" or code[at].argval not in classes or asked.argval not in CHANGES:
            continue
        if not is_method_of_class(code, at + 1) or not receiver.opname.startswith("LOAD_FAST"):
            continue
        taker, depth = taker_of(code, at + 2)
        if taker is None or taker.opname not in _CALLS or taker.arg != depth:
            continue
        call = place_of(code, at, taker)
        named = any(each.opname == "KW_NAMES" for each in code[call - 2 : call])
        if not named and _is_new(code, receiver.argval, given):
            yield at, call


def _is_new(code: Sequence[Any], name: str, given: Set[str | None]) -> bool:
    """Whether a variable holds nothing but containers that were made for it."""
    stores = [at for at, each in enumerate(code) if each.opname.startswith("STORE_") and each.argval == name]
    return name not in given and bool(stores) and all(stores_new_list(code, at) for at in stores)
