"""Whether code does nothing but compute, as far as its bytecode tells; in doubt it counts as doing more.

It reads local variables, constants and plain data, and calls methods that change nothing, functions of a few packages
and functions of the user that do nothing else either. How often such code runs is seen by nobody.
"""

from __future__ import annotations

import dis
import enum
import sys
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import torch

from ....ops.graph.operators.names import TEXT_METHODS
from ....ops.runtime.user_code import OURS
from ...proxies.base import is_traced
from ..redirect import STAND_INS, Uncached
from .loops.appending import CHANGES

_PACKAGES = frozenset("torch math re json numpy operator unicodedata statistics base64 html string tracepack".split())
_BUILTINS = frozenset(
    """abs all any ascii bool bytes chr dict divmod enumerate filter float format frozenset int isinstance len list map
    max min ord pow range repr reversed round set slice sorted str sum tuple zip""".split()
)
_METHODS = frozenset(
    """format encode decode hex get items keys values group groups groupdict start end span is_integer name value
    bit_length""".split()
)
_WRITES = ("STORE_GLOBAL", "STORE_NAME", "STORE_DEREF", "STORE_ATTR", "STORE_SUBSCR", "STORE_SLICE")
_BEGINS = (
    "DELETE_", "IMPORT_", "SETUP_", "BEFORE_WITH", "BEFORE_ASYNC", "PUSH_EXC", "WITH_", "GET_AWAITABLE", "SEND",
    "GET_YIELD", "LOAD_BUILD", "LOAD_NAME", "LOAD_CLASSDEREF", "LOAD_SUPER",
)  # fmt: skip


_NONE: Mapping[str, Any] = {}


@cache
def _safe_names() -> frozenset[str]:
    """The names of methods and attributes that change nothing, whatever they are asked of."""
    of_tensors = {name for name in dir(torch.Tensor) if name[0] != "_" and name[-1] != "_"}
    return frozenset({*TEXT_METHODS, *_METHODS, *of_tensors} - CHANGES - {"apply", "backward", "map", "put", "resize"})


def is_pure(code: CodeType, known: Mapping[str, Any], seen: frozenset[int] = frozenset()) -> bool:
    """Whether the code of a function does nothing but compute.

    Args:
        code: of the function.
        known: what the names in it mean that are no local variables.
        seen: the ids of functions that are looked at already.
    """
    return are_pure(list(dis.get_instructions(code)), known, seen, generator=code.co_name == "<genexpr>")


def are_pure(
    instructions: Iterable[dis.Instruction],
    known: Mapping[str, Any],
    seen: frozenset[int] = frozenset(),
    local: Mapping[str, Any] = _NONE,
    generator: bool = False,
) -> bool:
    """Whether some instructions do nothing but compute.

    Args:
        instructions: of a function.
        known: what the names in them mean.
        seen: the ids of functions that are looked at already.
        local: the local variables of a loop, which may change lists that were made for it.
        generator: whether they are those of a generator expression.
    """
    code = _own(instructions)
    calls = 0
    before: Any = None
    for index, each in enumerate(code):
        name, now = each.opname, None
        yields = name == "YIELD_VALUE" and not generator
        if name in _WRITES or name.startswith(_BEGINS) or yields:
            return False
        if name in ("LOAD_GLOBAL", "LOAD_DEREF") or (name == "LOAD_FAST" and each.argval in local):
            now = (local if name == "LOAD_FAST" else known).get(each.argval, each)  # an unknown name is an error
            if not _is_plain(now, seen):
                return False
            calls += callable(now)
        elif name == "LOAD_CONST" and isinstance(each.argval, CodeType):
            if not _is_plain_code(each.argval, known, seen):
                return False
            calls += 1
        elif name == "LOAD_CONST" and callable(each.argval):
            if not isinstance(each.argval, Uncached) or not _is_plain(each.argval.plain.__wrapped__, seen):
                return False
            calls += 1
        elif name in ("LOAD_ATTR", "LOAD_METHOD"):
            now = vars(before).get(each.argval) if isinstance(before, ModuleType) else None
            listed = bool(local) and each.argval in CHANGES
            if not (_is_of_package(now) if isinstance(before, ModuleType) else each.argval in _safe_names() or listed):
                return False
            calls += now is not None
        elif name == "PUSH_NULL" and not _is_callee(code, index, local):
            return False
        elif name.startswith("CALL_FUNCTION") and sys.version_info < (3, 11):
            calls -= 1  # Python 3.10 does not say what is called
        if name != "PUSH_NULL":
            before = now
    return sys.version_info >= (3, 11) or calls >= 0


def _own(instructions: Iterable[dis.Instruction]) -> list[dis.Instruction]:
    """The instructions without those that hand operands over to us."""
    code = [each for each in instructions if each.opname not in ("CACHE", "EXTENDED_ARG", "NOP", "PRECALL", "RESUME")]
    found, index = [], 0
    while index < len(code):
        ours = code[index].opname == "LOAD_CONST" and hasattr(code[index].argval, "asks_truth")
        if ours:
            index += 3  # the constant, the exchange and the subscript
            continue
        found.append(code[index])
        index += 1
    return found


def _is_callee(code: Sequence[dis.Instruction], index: int, local: Mapping[str, Any]) -> bool:
    """Whether what is called beside a NULL is known."""
    at = index - 1 if sys.version_info >= (3, 13) else index + 1
    each = code[at] if 0 <= at < len(code) else None
    if each is None or each.opname != "LOAD_FAST":
        return each is not None and each.opname in _CALLEES
    return each.argval in local


_CALLEES = ("LOAD_GLOBAL", "LOAD_DEREF", "LOAD_CONST", "MAKE_FUNCTION", "LOAD_ATTR")


def _is_plain_code(code: CodeType, known: Mapping[str, Any], seen: frozenset[int]) -> bool:
    """Whether a code object stands for a builtin that only computes, or is a function of the code that does."""
    if code.co_filename.startswith(OURS):
        return code.co_name.rpartition(".")[2] in _BUILTINS or code.co_name in _of_math()
    return is_pure(code, known, seen)


@cache
def _of_math() -> frozenset[str]:
    return frozenset(name for name in STAND_INS if not name.startswith("builtins.") and name not in ("id", "hash"))


def _is_plain(thing: Any, seen: frozenset[int]) -> bool:
    """Whether to read a thing, and to call it if it can be called, changes nothing."""
    if is_traced(thing) or isinstance(thing, torch.Tensor | dis.Instruction):
        return True
    if isinstance(thing, ModuleType):
        return _package(thing.__name__) in _PACKAGES
    if isinstance(thing, FunctionType):
        if id(thing) in seen:
            return True
        cells = dict(zip(thing.__code__.co_freevars, thing.__closure__ or (), strict=True))
        known = ChainMap(_contents(cells), thing.__globals__, vars(sys.modules["builtins"]))
        return is_pure(thing.__code__, known, seen | {id(thing)})
    if isinstance(thing, type) and issubclass(thing, enum.Enum):
        return True
    if isinstance(thing, BuiltinFunctionType | type):
        return thing.__module__ == "builtins" and thing.__name__ in _BUILTINS
    return not callable(thing)


def _contents(cells: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for name, cell in cells.items():
        try:
            found[name] = cell.cell_contents
        except ValueError:  # it is not set yet
            continue
    return found


def _package(name: str) -> str:
    return name.partition(".")[0]


def _is_of_package(thing: Any) -> bool:
    """Whether what was found in a module of one of the packages is a module of one, a function or plain data."""
    if isinstance(thing, ModuleType):
        return _package(thing.__name__) in _PACKAGES
    return thing is not None and (not isinstance(thing, type) or thing.__module__ in ("torch", "numpy"))
