"""Finds the loops of comprehensions in bytecode: their iterators, conditions and results.

Up to Python 3.11 a comprehension is a function of its own, which is called with the iterator; from 3.12 on it stands in
the code around it, and only a generator is a function.
"""

from __future__ import annotations

import dis
from collections.abc import Iterable, Iterator, Sequence
from types import CodeType
from typing import Any, NamedTuple

OWN_FUNCTIONS = ("<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>")
_CALLS = ("PRECALL", "CALL", "CALL_FUNCTION")
_BUILDS = ("BUILD_LIST", "BUILD_MAP", "BUILD_SET")
_APPENDS = ("LIST_APPEND", "MAP_ADD", "SET_ADD")


class LoopPlace(NamedTuple):
    """Where a loop stands.

    Attributes:
        comprehension: which one of its code it belongs to; None where the code is that of one.
        number: which `for` of it the loop is.
        several: whether it has more than one.
    """

    comprehension: int | None = None
    number: int = 0
    several: bool = False


class Comprehensions:
    """The comprehensions in some instructions.

    Attributes:
        begins: the indices of the instructions that make an iterator for a loop of one -> the place of that loop.
        heads: the ids of the instructions that ask for the next item -> the same.
        results: the indices of the instructions that take a result, of those with several loops -> the first loop.
        ends: the indices of the instructions after which its results are on the stack.
        returns: whether the code is that of a comprehension, which returns its results.
    """

    def __init__(self, instructions: Sequence[Any], code: CodeType) -> None:
        self.code, own = instructions, code.co_name in OWN_FUNCTIONS
        self.begins = dict(_calls(instructions))
        self.heads: dict[int, LoopPlace] = {}
        self.results: dict[int, LoopPlace] = {}
        self.ends: set[int] = set()
        heads = [at for at, each in enumerate(instructions) if each.opname == "FOR_ITER" and at > 1]
        inlined = {at: self._end(at) for at in heads if self._is_inlined(at)}
        loops = [at for at in _loops(instructions) if not _within(at, inlined)]
        if own and loops:
            self._add(loops, None, len(instructions), inlined)
        self.returns = own and bool(self.heads) and code.co_name != "<genexpr>"
        for head, end in inlined.items():
            inner = {at: to for at, to in inlined.items() if head < at < end}
            more = [at for at in _loops(instructions) if head < at < end and not _within(at, inner)]
            self._inlined([head, *more], end, inner)

    def _is_inlined(self, head: int) -> bool:
        """Whether the container of a comprehension is made just before its loop, below the iterator."""
        return self.code[head - 2].opname in _BUILDS and self.code[head - 1].argval != ".0"

    def _end(self, head: int) -> int:
        return next(at for at, each in enumerate(self.code) if each is self.code[head].target)

    def _inlined(self, loops: list[int], end: int, inner: dict[int, int]) -> None:
        """Adds a comprehension that stands in the code around it."""
        head = loops[0]
        begin = next((at for at in range(head - 1, -1, -1) if self.code[at].opname == "GET_ITER"), None)
        if self.code[end - 1].target is not self.code[head] or begin is None:
            return
        if self._add(loops, head, end, inner):
            self.begins[begin] = self.heads[id(self.code[head])]
            self.ends.add(end + (self.code[end + 1].opname == "POP_TOP"))

    def _add(self, loops: list[int], comprehension: int | None, end: int, inner: dict[int, int]) -> bool:
        """Adds the loops of a comprehension, if one instruction of them takes its results; inner ones are others."""
        several, own = len(loops) > 1, comprehension is None
        body = [at for at in range(loops[0], end) if not _within(at, inner)]
        found = [at for at in body if _takes_result(self.code[at], len(loops), own)]
        if len(found) != 1:
            return False
        places = [LoopPlace(comprehension, number, several) for number in range(len(loops))]
        self.heads |= {id(self.code[at]): place for at, place in zip(loops, places, strict=True)}
        self.begins |= {at - 1: place for at, place in zip(loops[1:], places[1:], strict=True)}
        self.results |= {found[0]: places[0]} if several else {}
        return True


def _takes_result(each: Any, loops: int, own: bool) -> bool:
    return (each.opname in _APPENDS and each.arg == loops + 1) or (own and each.opname == "YIELD_VALUE")


def _within(at: int, ranges: dict[int, int]) -> bool:
    return any(start <= at < end for start, end in ranges.items())


def _loops(instructions: Iterable[Any]) -> list[int]:
    """Where loops ask for their items, but for those of comprehensions that stand in the code."""
    before, found = None, list[int]()
    for at, each in enumerate(instructions):
        begins = before is not None and (before.opname == "GET_ITER" or before.argval == ".0")
        if each.opname == "FOR_ITER" and begins:
            found.append(at)
        before = before if each.opname == "EXTENDED_ARG" else each
    return found


def _calls(instructions: Sequence[Any]) -> Iterator[tuple[int, LoopPlace]]:
    """Where iterators are made for comprehensions that are functions of their own."""
    waiting: list[CodeType] = []
    for index, each in enumerate(instructions[:-1]):
        made = each.argval if each.opname == "LOAD_CONST" and isinstance(each.argval, CodeType) else None
        if made is not None and made.co_name in OWN_FUNCTIONS:
            waiting.append(made)
        if each.opname == "GET_ITER" and instructions[index + 1].opname in _CALLS and waiting:
            loops = len(_loops(dis.get_instructions(waiting.pop())))
            if loops:
                yield index, LoopPlace(several=loops > 1)
