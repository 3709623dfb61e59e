"""Expressions of numbers and texts that may run where Python would not run them.

They cannot fail, whatever the numbers and texts are, and change nothing: comparisons, sums, slices, f-strings, and some
methods of texts.
"""

from __future__ import annotations

import dis
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..rounds.run_at_once import asked, fills_cell
from .sides import SideLoad, load_of

_COMPARING = frozenset(
    """COMPARE_OP CONTAINS_OP IS_OP UNARY_NOT TO_BOOL NOP LOAD_CONST LOAD_GLOBAL LOAD_DEREF
    COPY SWAP DUP_TOP ROT_TWO ROT_THREE""".split()
)
_COMPUTING = frozenset(
    """BINARY_ADD BINARY_SUBTRACT BINARY_MULTIPLY INPLACE_ADD INPLACE_SUBTRACT INPLACE_MULTIPLY
    BUILD_STRING UNARY_NEGATIVE CONVERT_VALUE FORMAT_SIMPLE FORMAT_VALUE""".split()
)
_OPERATORS = (0, 5, 10, 13, 18, 23)  # the arguments of BINARY_OP for + * - and += *= -=
_NO_EXPRESSION = ("STORE_", "DELETE_", "RETURN_", "YIELD_", "RAISE_", "RERAISE", "POP_TOP", "IMPORT_", "SETUP_", "POP_")
_USES = ("STORE_FAST", "LOAD_FAST")
_TIMES = (5, 18)
_METHODS = frozenset(
    """lower upper strip lstrip rstrip replace startswith endswith find rfind count title capitalize swapcase casefold
    removeprefix removesuffix isdigit isalpha isalnum isspace isupper islower isnumeric isdecimal isascii""".split()
)
_SPECIFICATION = re.compile(r"[<>^]?0?\d{0,3},?(\.\d{1,2}[feg%])?")


def is_ready(instructions: Sequence[Any], index: int) -> bool:
    """Whether an instruction belongs to comparisons, and lengths of variables."""
    name = instructions[index].opname
    return name in _COMPARING or name.startswith("LOAD_FAST") or _asks_length(instructions, index)


def _asks_length(instructions: Sequence[Any], index: int) -> bool:
    """Whether an instruction calls `len` for a local variable, or prepares a call."""
    name, load = instructions[index].opname, index - 1
    if not name.startswith("CALL"):
        return name in ("PUSH_NULL", "MAKE_FUNCTION", "PRECALL")
    load -= instructions[load].opname == "PRECALL"
    given = instructions[load].opname.startswith(("LOAD_FAST", "LOAD_DEREF")) and instructions[index].arg == 1
    return given and asked(instructions, load) == "len"


class SureExpressions:
    """The expressions in some instructions."""

    def __init__(self, instructions: Sequence[Any]) -> None:
        self.instructions = instructions
        self.targets = {id(each.target) for each in instructions if each.target is not None}

    def end(self, start: int, most: int) -> int | None:
        """Where an expression that begins at a place ends, with its value there; None where there is none.

        It ends where its value was there last before what does more than compute, or takes more than it has made.
        Whether all sides go on alike there is for the choice to see: since Python 3.12, and in results also before,
        each may have a copy of what follows it.

        Args:
            start: the place.
            most: where it ends at the latest.
        """
        height, found = 0, None
        for index in range(start, len(self.instructions)):
            each = self.instructions[index]
            if height == 1 and (index > start + 1 or load_of(self.instructions[start]) is not None):
                found = index
            following = height + dis.stack_effect(each.opcode, each.arg, jump=False)
            if index == most or following < 1 or not self._cannot_fail(index):
                return found
            if index > start and id(each) in self.targets:
                return None
            height = following
        return None

    def any_end(self, start: int, most: int) -> int | None:
        """As `end`, of an expression that may fail: whatever has no jump in it, and stores nothing."""
        height, found = 0, None
        for index in range(start, len(self.instructions)):
            each = self.instructions[index]
            if height == 1:
                found = index
            stores = each.opname.startswith(_NO_EXPRESSION) and not fills_cell(self.instructions, index)
            ends = each.target is not None or stores
            following = 0 if ends else height + dis.stack_effect(each.opcode, each.arg, jump=False)
            if index == most or following < 1:
                return None if found is None or self.instructions[found].opname == "POP_TOP" else found
            if index > start and id(each) in self.targets:
                return None
            height = following
        return None

    def returned_end(self, start: int, _: int) -> int | None:
        """Where lines that set local variables return a value; None where they do anything else."""
        height = 0
        for index in range(start, len(self.instructions)):
            each = self.instructions[index]
            if each.opname == "RETURN_VALUE":
                return index if height == 1 else None
            if each.target is not None or (index > start and id(each) in self.targets):
                return None
            stores = each.opname == "STORE_FAST" or fills_cell(self.instructions, index)
            if each.opname.startswith(_NO_EXPRESSION) and not stores:
                return None
            height += dis.stack_effect(each.opcode, each.arg, jump=False)
            if height < 0:
                return None
        return None

    def are_apart(self, spans: Mapping[int, int]) -> bool:
        """Whether no span loads a variable that another one stores: the code runs all of them, one after another."""
        used = [
            [
                {each.argval for each in self.instructions[slice(*span)] if each.opname.startswith(name)}
                for name in _USES
            ]
            for span in spans.items()
        ]
        return not any(one is not other and one[0] & other[1] for one in used for other in used)

    def loads(self, start: int, end: int) -> list[SideLoad]:
        """What is loaded between two places, but what is called, and the ends of slices."""
        found = [load for each in self.instructions[start:end] if (load := load_of(each)) is not None]
        return [load for load in found if load != SideLoad("LOAD_CONST", None) or end == start + 1]

    def multiplies(self, start: int, end: int) -> bool:
        """Whether there is a product between two places."""
        return any(
            each.opname.endswith("_MULTIPLY") or (each.opname == "BINARY_OP" and each.arg in _TIMES)
            for each in self.instructions[start:end]
        )

    def _cannot_fail(self, index: int) -> bool:
        each, before = self.instructions[index], self.instructions[index - 1]
        match each.opname:
            case "BINARY_OP":
                return bool(each.arg in _OPERATORS)
            case "BINARY_SUBSCR":
                return bool(before.opname == "BUILD_SLICE")
            case "BUILD_SLICE":
                return bool(each.arg == 2)  # a step may be 0
            case "FORMAT_WITH_SPEC" | "FORMAT_VALUE" if each.opname == "FORMAT_WITH_SPEC" or (each.arg or 0) & 4:
                return before.opname == "LOAD_CONST" and bool(_SPECIFICATION.fullmatch(str(before.argval)))
            case "LOAD_METHOD" | "LOAD_ATTR":
                return each.argval in _METHODS
        calls = each.opname.startswith(("CALL", "PRECALL")) and self._calls_method(index)
        return calls or each.opname in _COMPUTING or is_ready(self.instructions, index)

    def _calls_method(self, index: int) -> bool:
        """Whether a call is one of the method that was loaded for it, with constants and variables."""
        count = self.instructions[index].arg or 0
        at = index - 1 - (self.instructions[index - 1].opname == "PRECALL")
        given = [self.instructions[place] for place in range(at - count + 1, at + 1)]
        method = self.instructions[at - count]
        return method.opname in ("LOAD_METHOD", "LOAD_ATTR") and all(load_of(each) is not None for each in given)
