"""Finds the loops of comprehensions in bytecode: their iterators, conditions and results.

Up to Python 3.11 a comprehension is a function of its own, which is called with the iterator; from 3.12 on it stands in
the code around it, and only a generator is a function. One with two loops counts as none.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import Any

OWN_FUNCTIONS = ("<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>")
_CALLS = ("PRECALL", "CALL", "CALL_FUNCTION")
_BUILDS = ("BUILD_LIST", "BUILD_MAP", "BUILD_SET")
_APPENDS = ("LIST_APPEND", "MAP_ADD", "SET_ADD")


class Comprehensions:
    """The comprehensions with one loop in some instructions.

    Attributes:
        begins: the indices of the instructions that make an iterator for one -> which comprehension of the code it is.
        heads: the ids of the instructions that ask for the next item -> the same; None where the code is that of one.
        ends: the indices of the instructions after which its results are on the stack.
        returns: whether the code is that of a comprehension, which returns its results.
    """

    def __init__(self, instructions: Sequence[Any], code: CodeType) -> None:
        loops = [each for each in instructions if each.opname == "FOR_ITER"]
        own = code.co_name in OWN_FUNCTIONS and len(loops) == 1
        self.begins: dict[int, int | None] = dict.fromkeys(_calls(instructions))
        self.heads: dict[int, int | None] = {id(loops[0]): None} if own else {}
        self.returns = own and code.co_name != "<genexpr>"
        self.ends: set[int] = set()
        for index, each in enumerate(instructions):
            if each.opname == "FOR_ITER" and index > 1 and instructions[index - 2].opname in _BUILDS:
                self._inlined(instructions, index)

    def _inlined(self, instructions: Sequence[Any], head: int) -> None:
        """Adds a comprehension that stands in the code around it."""
        end = next(index for index, each in enumerate(instructions) if each is instructions[head].target)
        last, append = instructions[end - 1], instructions[end - 2]
        begin = next((index for index in range(head - 1, -1, -1) if instructions[index].opname == "GET_ITER"), None)
        if last.target is not instructions[head] or append.opname not in _APPENDS or append.arg != 2 or begin is None:
            return
        self.begins[begin] = self.heads[id(instructions[head])] = head
        self.ends.add(end + (instructions[end + 1].opname == "POP_TOP"))


def _calls(instructions: Sequence[Any]) -> Iterator[int]:
    """Where iterators are made for comprehensions with one loop that are functions of their own."""
    waiting: list[CodeType] = []
    for index, each in enumerate(instructions[:-1]):
        made = each.argval if each.opname == "LOAD_CONST" and isinstance(each.argval, CodeType) else None
        if made is not None and made.co_name in OWN_FUNCTIONS:
            waiting.append(made)
        if each.opname == "GET_ITER" and instructions[index + 1].opname in _CALLS and waiting:
            inner = waiting.pop()
            loops = [other.opname for other in dis.get_instructions(inner)].count("FOR_ITER")
            if loops == 1 and inner.co_name in OWN_FUNCTIONS:
                yield index
