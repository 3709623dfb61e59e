"""Whether code does nothing but compute, as far as its bytecode tells; in doubt it counts as doing more.

It reads local variables, constants and plain data, and calls methods that change nothing, functions of a few packages
and functions of the user that do nothing else either. How often such code runs is seen by nobody.
"""

from __future__ import annotations

import dis
import enum
import inspect
import sys
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import torch

from ....ops.graph.operators.names import TEXT_METHODS
from ....ops.runtime.primitives.values.dates import FIELDS, NUMBERS
from ....ops.runtime.user_code import OURS
from ...proxies.base import is_traced
from ...proxies.values.known_values import VALUE_CLASSES
from ...proxies.values.plain_data import CONTAINERS, is_data
from ...proxies.values.plain_objects import is_named, is_of_fields
from ..redirect import STAND_INS, Uncached
from .loops.appending import CHANGES
from .rounds.run_at_once import fills_cell

_PACKAGES = frozenset("torch math re json numpy operator unicodedata statistics base64 html string tracepack".split())
_BUILTINS = frozenset(
    """abs all any ascii bool bytes chr dict divmod enumerate filter float format frozenset int isinstance len list map
    max min ord pow range repr reversed round set slice sorted str sum tuple zip""".split()
)
_METHODS = frozenset(
    """format encode decode hex get items keys values group groups groupdict start end span is_integer name value
    bit_length strptime fromisoformat fromordinal date isocalendar isoformat strftime quantize""".split()
)
_KNOWN = (
    "BINARY_", "BUILD_", "CALL", "COMPARE_OP", "CONTAINS_OP", "CONVERT_VALUE", "COPY", "DICT_", "DUP_TOP", "END_FOR",
    "FORMAT_", "FOR_ITER", "GEN_START", "GET_ITER", "GET_LEN", "IS_OP", "JUMP_", "KW_NAMES", "LIST_", "LOAD_ASSERTION",
    "LOAD_CLOSURE", "LOAD_FAST", "MAKE_", "MAP_ADD", "MATCH_", "POP_JUMP", "POP_TOP", "RAISE_VARARGS", "RERAISE",
    "RETURN_", "ROT_", "SET_", "STORE_FAST", "SWAP", "TO_BOOL", "UNARY_", "UNPACK_", "YIELD_VALUE",
)  # fmt: skip
"""How instructions of Python 3.10 to 3.13 begin that change but the stack, local variables and new objects."""
_CHANGING = (
    "copyto", "dump", "fill_diagonal", "load", "manual_seed", "place", "put", "putmask", "random", "save", "seed",
    "set_", "use_",
)  # fmt: skip
"""How the names begin of what changes something in a module of one of the packages, or reads what changes."""


_NONE: Mapping[str, Any] = {}


@cache
def _safe_names() -> frozenset[str]:
    """The names of methods and attributes that change nothing, whatever they are asked of."""
    of_tensors = {name for name in dir(torch.Tensor) if name[0] != "_" and name[-1] != "_"}
    return frozenset(
        {*TEXT_METHODS, *_METHODS, *FIELDS, *NUMBERS, *of_tensors}
        - CHANGES
        - {"apply", "backward", "map", "put", "resize"}
    )


def is_pure(
    code: CodeType,
    known: Mapping[str, Any],
    seen: frozenset[int] = frozenset(),
    shown: frozenset[type] = frozenset(),
) -> bool:
    """Whether the code of a function does nothing but compute.

    Args:
        code: of the function.
        known: what the names in it mean that are no local variables.
        seen: the ids of functions that are looked at already.
        shown: the classes of the objects that a loop goes through, which local variables name.
    """
    return are_pure(list(dis.get_instructions(code)), known, seen, generator=code.co_name == "<genexpr>", shown=shown)


def are_pure(
    instructions: Iterable[dis.Instruction],
    known: Mapping[str, Any],
    seen: frozenset[int] = frozenset(),
    local: Mapping[str, Any] = _NONE,
    generator: bool = False,
    shown: frozenset[type] = frozenset(),
) -> bool:
    """Whether some instructions do nothing but compute.

    Args:
        instructions: of a function.
        known: what the names in them mean.
        seen: the ids of functions that are looked at already.
        local: the local variables of a loop, which may change lists that were made for it.
        generator: whether they are those of a generator expression.
        shown: the classes of the objects that a loop goes through, which local variables name.
    """
    reader = _EffectReader(own_instructions(instructions), known, local, seen, generator, shown)
    return all(map(reader.is_pure, range(len(reader.code)))) and reader.calls >= 0


class _EffectReader:
    """Reads instructions one by one.

    Attributes:
        module: the module that the last instruction loaded, if it did.
        calls: on Python 3.10, which does not say what is called, how many things that can be called were loaded, less
            the calls.
    """

    def __init__(
        self,
        code: Sequence[dis.Instruction],
        known: Mapping[str, Any],
        local: Mapping[str, Any],
        seen: frozenset[int],
        generator: bool,
        shown: frozenset[type],
    ) -> None:
        self.shown = shown
        self.code, self.known, self.local, self.seen, self.generator = code, known, local, seen, generator
        self.module: Any = None
        self.calls = 0

    def is_pure(self, index: int) -> bool:
        """Whether an instruction does nothing but compute."""
        each = self.code[index]
        name, before, self.module = each.opname, self.module, None
        if name in ("LOAD_GLOBAL", "LOAD_DEREF") or (name == "LOAD_FAST" and each.argval in self.local):
            return self._reads((self.local if name == "LOAD_FAST" else self.known).get(each.argval, each))
        if name == "STORE_SUBSCR":  # into a dict that was made for the loop
            return bool(self.local)
        if name == "STORE_DEREF":
            return fills_cell(self.code, index)
        if name == "LOAD_CONST":
            return self._is_plain_constant(each.argval)
        if name in ("LOAD_ATTR", "LOAD_METHOD"):
            return self._asks(before, each.argval) or self._asks_object(index, each.argval)
        if name == "PUSH_NULL":
            self.module = before
            return _is_callee(self.code, index, self.local)
        if _is_in_place(each):
            entry = any(after.opname == "STORE_SUBSCR" for after in self.code[index + 1 : index + 4])
            stays = not _holds_containers(self.local) if entry else _stored(self.code, index) in _numbers(self.local)
            return bool(self.local) and stays
        self.calls -= name.startswith("CALL_FUNCTION") and sys.version_info < (3, 11)
        yields = name == "YIELD_VALUE" and not self.generator
        return name.startswith(_KNOWN) and not yields

    def _reads(self, thing: Any) -> bool:
        self.calls += callable(thing) and type(thing) not in self.shown
        self.module = thing if isinstance(thing, ModuleType) else None
        made = isinstance(thing, type) and thing in self.shown and is_of_fields(thing)
        return made or type(thing) in self.shown or _is_plain(thing, self.seen, self.shown)

    def _is_plain_constant(self, thing: Any) -> bool:
        self.calls += isinstance(thing, CodeType) or callable(thing)
        if isinstance(thing, CodeType):
            return _is_plain_code(thing, self.known, self.seen)
        if isinstance(thing, Uncached):
            return _is_plain(thing.plain.__wrapped__, self.seen)
        return not callable(thing) or _name_of_stand_in(thing) in _BUILTINS | _of_math()

    def _asks_object(self, index: int, name: str) -> bool:
        """Whether to look up an attribute of an object that a loop goes through, and to call it, changes nothing."""
        variable = self.code[index - 1]
        if self.shown and index and variable.opname == "LOAD_DEREF":
            kind = type(self.known.get(variable.argval))
            return kind in self.shown and self._asks_class(kind, name)
        if variable.opname == "LOAD_ATTR" and self.shown:  # of what an object holds
            return is_named(name, self.shown) and all(self._asks_class(kind, name) for kind in self.shown)
        if not self.shown or index == 0 or variable.opname != "LOAD_FAST":
            return False
        known = self.local.get(variable.argval)
        return (known is None or type(known) in self.shown) and all(self._asks_class(kind, name) for kind in self.shown)

    def _asks_class(self, kind: type, name: str) -> bool:
        found = inspect.getattr_static(kind, name, None)
        function = found.fget if isinstance(found, property) else found
        if not isinstance(function, FunctionType):
            return not hasattr(found, "__get__") or inspect.isdatadescriptor(found)
        self.calls += function is found
        known = ChainMap(function.__globals__, vars(sys.modules["builtins"]))
        own = id(function) not in self.seen and not function.__closure__
        return own and is_pure(function.__code__, known, self.seen | {id(function)}, self.shown)

    def _asks(self, module: Any, name: str) -> bool:
        """Whether to look up an attribute, of a module or of anything else, and to call it, changes nothing."""
        if module is None:
            return name in _safe_names() or (bool(self.local) and name in CHANGES)
        found = vars(module).get(name)
        self.calls += 1
        self.module = found if isinstance(found, ModuleType) else None
        return _is_of_package(found) and not (name.startswith(_CHANGING) and name not in ("dumps", "loads"))


def own_instructions(instructions: Iterable[dis.Instruction]) -> list[dis.Instruction]:
    """The instructions without those that hand operands over to us, with one for each variable."""
    code = [single for each in instructions if each.opname not in _NOTHING for single in _singles(each)]
    found, index = [], 0
    while index < len(code):
        ours = code[index].opname == "LOAD_CONST" and hasattr(code[index].argval, "asks_truth")
        if ours:
            index += 3  # the constant, the exchange and the subscript
            continue
        found.append(code[index])
        index += 1
    return found


_NOTHING = ("CACHE", "EXTENDED_ARG", "NOP", "PRECALL", "RESUME")


def _singles(each: dis.Instruction) -> list[dis.Instruction]:
    """An instruction, or the two of which Python 3.13 makes one; a load that Python 3.12 checks is any other load."""
    if each.opname == "LOAD_FAST_CHECK":
        return [each._replace(opname="LOAD_FAST")]
    if not isinstance(each.argval, tuple) or each.opname.count("_FAST") != 2:
        return [each]
    names = each.opname.removesuffix("_FAST").split("_FAST_")
    return [each._replace(opname=f"{name}_FAST", argval=value) for name, value in zip(names, each.argval, strict=True)]


def _is_callee(code: Sequence[dis.Instruction], index: int, local: Mapping[str, Any]) -> bool:
    """Whether what is called beside a NULL is known."""
    at = index - 1 if sys.version_info >= (3, 13) else index + 1
    each = code[at] if 0 <= at < len(code) else None
    if each is None or each.opname != "LOAD_FAST":
        return each is not None and each.opname in _CALLEES
    return each.argval in local


def _is_in_place(each: dis.Instruction) -> bool:
    """Whether an instruction is an operator such as ``+=``, which changes a list."""
    return each.opname.startswith("INPLACE_") or (each.opname == "BINARY_OP" and (each.arg or 0) >= _FIRST_IN_PLACE)


_FIRST_IN_PLACE = 13  # the argument of BINARY_OP for +=


def _stored(code: Sequence[dis.Instruction], index: int) -> Any:
    """The name under which the next instruction stores a result."""
    after = code[index + 1] if index + 1 < len(code) else None
    return after.argval if after is not None and after.opname == "STORE_FAST" else None


def _holds_containers(local: Mapping[str, Any]) -> bool:
    """Whether a container among local variables holds others, which an operator may change in place."""
    held = [each.values() if isinstance(each, dict) else each for each in local.values() if type(each) in CONTAINERS]
    return any(
        isinstance(item, list | set | dict | bytearray) and not is_traced(item) for each in held for item in each
    )


def _numbers(local: Mapping[str, Any]) -> set[str]:
    """The names of local variables that no operator changes in place."""
    changed = (list, set, dict, bytearray)
    return {name for name, value in local.items() if is_traced(value) or not isinstance(value, changed)}


_CALLEES = ("LOAD_GLOBAL", "LOAD_DEREF", "LOAD_CONST", "MAKE_FUNCTION", "LOAD_ATTR")


def _is_plain_code(code: CodeType, known: Mapping[str, Any], seen: frozenset[int]) -> bool:
    """Whether a code object stands for a builtin that only computes, or is a function of the code that does."""
    if code.co_filename.startswith(OURS):
        return code.co_name.rpartition(".")[2] in _BUILTINS or code.co_name in _of_math()
    return is_pure(code, known, seen)


def _name_of_stand_in(thing: Any) -> str:
    """What a stand-in for a function is called, which is a constant itself on Python 3.10; empty for another thing."""
    return next((name.removeprefix("builtins.") for name, each in STAND_INS.items() if each is thing), "")


@cache
def _of_math() -> frozenset[str]:
    return frozenset(name for name in STAND_INS if not name.startswith("builtins.") and name not in ("id", "hash"))


def is_plain_function(function: FunctionType) -> bool:
    """Whether to call a function changes nothing."""
    return _is_plain_code(function.__code__, _known(function), frozenset({id(function)}))


def _known(function: FunctionType) -> Mapping[str, Any]:
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    return ChainMap(_contents(cells), function.__globals__, vars(sys.modules["builtins"]))


def _is_plain(thing: Any, seen: frozenset[int], shown: frozenset[type] = frozenset()) -> bool:
    """Whether to read a thing, and to call it if it can be called, changes nothing."""
    if isinstance(thing, ModuleType):
        return _package(thing.__name__) in _PACKAGES
    if isinstance(thing, FunctionType):
        if id(thing) in seen:
            return True
        return is_pure(thing.__code__, _known(thing), seen | {id(thing)}, shown)
    if isinstance(thing, type) and thing in VALUE_CLASSES:
        return True
    if isinstance(thing, BuiltinFunctionType) or (isinstance(thing, type) and not issubclass(thing, enum.Enum)):
        return thing.__module__ == "builtins" and thing.__name__ in _BUILTINS
    return is_data(thing)


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
