"""What the instructions of code write into: things that the code made itself, and things that it has by a name.

A list that code makes is another one in each run: ``out = []`` and ``out.append(row)`` write into nothing that was
there before. Of others it is known where ``self.items.append(row)`` names them. Code is followed along the stack of one
statement, and by its variables; what comes over a jump, out of a call or as an argument may be anything.
"""

from __future__ import annotations

import builtins
import collections
import dis
from collections.abc import Iterator, Mapping
from types import CodeType, ModuleType
from typing import Any

import numpy as np
import torch

ANY = ""
"""In place of a name: it is not known what is written into."""
_UNKNOWN = frozenset((ANY,))
_PASSED = ("EXTENDED_ARG", "CACHE", "NOP")
_IS_MADE = ("BUILD_LIST", "BUILD_MAP", "BUILD_SET", "BUILD_CONST_KEY_MAP")
_OF_NAMES = ("LOAD_GLOBAL", "LOAD_DEREF", "LOAD_ATTR")
_OF_CALLS = ("CALL", "CALL_FUNCTION", "CALL_METHOD", "CALL_KW", "CALL_FUNCTION_KW")
_OF_METHODS = ("LOAD_METHOD", "LOAD_ATTR")
_COMPREHENSIONS = ("<listcomp>", "<dictcomp>", "<setcomp>")
_SETTING = ("STORE_FAST", "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST")
_GIVING_ONE = (
    "LOAD_FAST", "LOAD_CONST", "LOAD_SMALL_INT", "LOAD_DEREF", "LOAD_CLOSURE", "PUSH_NULL", "BINARY_", "COMPARE_OP",
    "CONTAINS_OP", "IS_OP", "UNARY_", "BUILD_", "FORMAT_", "CONVERT_VALUE", "MAKE_FUNCTION", "GET_ITER", *_OF_CALLS,
)  # fmt: skip
_GIVING_NONE = (
    "LIST_EXTEND", "LIST_APPEND", "SET_UPDATE", "SET_ADD", "DICT_UPDATE", "DICT_MERGE", "MAP_ADD", "PRECALL",
    "KW_NAMES", "STORE_FAST", "STORE_FAST_STORE_FAST",
)  # fmt: skip
_MAKERS = [
    list, dict, set, sorted, collections.deque, collections.defaultdict, collections.OrderedDict, collections.Counter,
    np.zeros, np.ones, np.empty, np.full, np.zeros_like, np.ones_like, np.empty_like, np.full_like, np.arange,
    torch.zeros, torch.ones, torch.empty, torch.full, torch.zeros_like, torch.ones_like, torch.empty_like,
    torch.full_like, torch.arange,
]  # fmt: skip
"""Functions that give a thing which nobody else has."""


def makers_in(code: CodeType, held: Mapping[str, Any]) -> frozenset[str]:
    """The names by which code calls a function that gives a new thing: ``list``, ``np.zeros``.

    Args:
        code: the code.
        held: its globals.
    """
    found = set[str]()
    for name in code.co_names:
        thing = held.get(name, vars(builtins).get(name))
        if _is_maker(thing):
            found.add(name)
        elif isinstance(thing, ModuleType):
            found.update(f"{name}.{inner}" for inner in code.co_names if _is_maker(vars(thing).get(inner)))
    return frozenset(found)


def _is_maker(thing: Any) -> bool:
    return any(thing is each for each in _MAKERS)


class Receivers:
    """What code writes into.

    Args:
        code: the code.
        makers: the names of functions that give a new thing, as `makers_in` finds them; None where a run of the code
            has begun, so that also what it made was there before.

    Attributes:
        lines: its instructions.
    """

    def __init__(self, code: CodeType, makers: frozenset[str] | None) -> None:
        self.lines, self._makers = list[dis.Instruction](), makers
        self._targets, was_target = set[int](), False
        for line in dis.get_instructions(code):
            was_target = was_target or line.is_jump_target
            if line.opname not in _PASSED:
                self._targets |= {len(self.lines)} if was_target else set()
                self.lines.append(line)
                was_target = False
        count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
        self._arguments = frozenset(code.co_varnames[:count])
        self._variables: dict[str, frozenset[str]] = {}

    def names(self, at: int, depth: int) -> frozenset[str]:
        """The names by which the code has a thing on the stack before an instruction.

        Args:
            at: the place of the instruction.
            depth: how many things lie above it on the stack.

        Returns:
            No name where the code made the thing, and `ANY` among them where it may be any other.
        """
        found = self._giving(at, depth) if self._makers is not None else None
        if found is None:
            return _UNKNOWN
        place, which = found
        line = self.lines[place]
        if line.opname in _IS_MADE or self._is_new(place):
            return frozenset()
        if line.opname.startswith("LOAD_FAST"):
            return self._of_variable((line.argval if isinstance(line.argval, tuple) else (line.argval,))[which])
        if line.opname == "STORE_FAST_LOAD_FAST":
            return self._of_variable(line.argval[1])
        return frozenset((line.argval,)) if line.opname in _OF_NAMES and _pushed(line) == 1 else _UNKNOWN

    def is_new(self, at: int, depth: int) -> bool:
        """Whether the code made a thing on the stack before an instruction; see `names`."""
        return not self.names(at, depth)

    def methods(self) -> Iterator[tuple[str, frozenset[str]]]:
        """The attributes and methods that the code names, each with the names of that of which it asks for them."""
        for at, line in enumerate(self.lines):
            if line.opname in _OF_METHODS:
                yield line.argval, self.names(at, 0)

    def _of_variable(self, name: str) -> frozenset[str]:
        """The names of all that a variable of the code ever holds."""
        if name in self._arguments:
            return _UNKNOWN
        if name not in self._variables:
            self._variables[name] = frozenset()  # of what comes from the variable itself
            stores = [at for at, line in enumerate(self.lines) if name in _stored(line)]
            known = [self.lines[at].opname in _SETTING for at in stores]
            found = (self.names(at, depth) for at in stores for depth in _depths(self.lines[at], name))
            self._variables[name] = frozenset[str]().union(*found) if stores and all(known) else _UNKNOWN
        return self._variables[name]

    def _is_new(self, at: int) -> bool:
        """Whether an instruction calls what gives a new thing."""
        line = self.lines[at]
        if line.opname not in _OF_CALLS:
            return False
        begins = self._giving(at, -_effect(line))
        if begins is None:
            return False
        called = self.lines[begins[0]]
        if called.opname == "MAKE_FUNCTION":
            made = [line.argval for line in self.lines[max(begins[0] - 2, 0) : begins[0]]]
            return any(isinstance(each, CodeType) and each.co_name in _COMPREHENSIONS for each in made)
        named = begins[0] + (self.lines[begins[0] + 1].opname == "LOAD_ATTR")  # of a module
        return self._text(named) in (self._makers or ())

    def _text(self, at: int) -> str:
        """The name that an instruction loads, of a global or of what a global module has."""
        line, before = self.lines[at], self.lines[at - 1]
        if line.opname in _OF_METHODS and before.opname == "LOAD_GLOBAL":
            return f"{before.argval}.{line.argval}"
        return str(line.argval) if line.opname == "LOAD_GLOBAL" else ANY

    def _giving(self, at: int, depth: int) -> tuple[int, int] | None:
        """The instruction that put a thing on the stack, and which of its results it is; None where that is open."""
        place, height = -1 - depth, 0
        while at > 0 and at not in self._targets:
            at -= 1
            line = self.lines[at]
            if line.opname in ("SWAP", "ROT_TWO"):  # of the top with the one so far below, as in ``a, b = [], {}``
                ends = height - 1, height - (line.arg or 2)
                place = ends[place == ends[0]] if place in ends else place
                continue
            if (pushed := _pushed(line)) is None:
                return None
            if height - pushed <= place:
                return at, place - (height - pushed)
            height -= _effect(line)
        return None


def _effect(line: dis.Instruction) -> int:
    return dis.stack_effect(line.opcode, line.arg, jump=False)


def _pushed(line: dis.Instruction) -> int | None:
    """How many things an instruction puts on the stack; None where that is not known."""
    if line.opname == "LOAD_GLOBAL":
        return _effect(line)
    if line.opname in _OF_METHODS:
        return _effect(line) + 1
    if line.opname in ("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW"):
        return 2
    if line.opname == "LOAD_FAST_AND_CLEAR":
        return None
    if line.opname.startswith(_GIVING_ONE) or line.opname == "STORE_FAST_LOAD_FAST":
        return 1
    return 0 if line.opname in _GIVING_NONE else None


def _stored(line: dis.Instruction) -> tuple[Any, ...]:
    """The variables into which an instruction writes."""
    if not line.opname.startswith(("STORE_FAST", "LOAD_FAST_AND_CLEAR")):
        return ()
    names = [*line.argval] if isinstance(line.argval, tuple) else [line.argval]
    return tuple(names[:1] if line.opname == "STORE_FAST_LOAD_FAST" else names)


def _depths(line: dis.Instruction, name: str) -> list[int]:
    """How deep on the stack there lies what an instruction writes into a variable: of two, the upper is set first."""
    return [depth for depth, each in enumerate(_stored(line)) if each == name]
