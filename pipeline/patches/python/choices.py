"""A choice between two constants, such as ``"high" if x > 0 else "low"``, as a look-up in a table of the two.

Python runs one side of it only. Both sides are known here, so where data decides the condition, the jump goes to the
first side, and there what stands for both takes the place of its constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ...proxies.base import is_traced
from ...proxies.lists import TracedList
from ...proxies.scalars import TracedNumber
from ...proxies.strings import TracedStr
from .operations import HandedOver, active, number_of

_KINDS = (str, int, float, bool)


class Choice:
    """One choice in the code of a function.

    Args:
        table: the constants of the two sides, that for a false condition first.
        falls: whether the code goes on without a jump where the condition holds.
    """

    def __init__(self, table: list[Any], falls: bool) -> None:
        self.table, self.falls = table, falls
        self.waiting: dict[int, Any] = {}
        self.condition, self.side = HandedOver(self._decided), HandedOver(self._taken)

    def _decided(self, found: Any) -> Any:
        """The condition of the jump: that of the first side, where what stands for both waits."""
        recorder = active()
        if recorder is None:
            return found
        found = number_of(recorder, found)
        if type(found) in (TracedStr, TracedList):
            found = recorder.scalar("bool", found)
        if not issubclass(type(found), TracedNumber) or not (found.varies or recorder.rounds.open):
            return found  # a condition of the signature
        self.waiting[id(recorder)] = recorder.scalar("lookup", self.table, recorder.scalar("bool", found))
        return self.falls

    def _taken(self, constant: Any) -> Any:
        recorder = active()
        return constant if recorder is None else self.waiting.pop(id(recorder), constant)


class Choices:
    """The choices in some instructions.

    Attributes:
        jumps: the index of the jump of each -> the choice.
        sides: the index of the constant of its first side -> the same.
    """

    def __init__(self, instructions: Sequence[Any], jumps: Sequence[str]) -> None:
        self.jumps: dict[int, Choice] = {}
        self.sides: dict[int, Choice] = {}
        for index, this in enumerate(instructions[:-2]):
            if this.opname in jumps:
                self._add(instructions, index, this)

    def _add(self, instructions: Sequence[Any], index: int, this: Any) -> None:
        first = instructions[index + 1]
        place = next((at for at, each in enumerate(instructions) if each is this.target), 0)
        if place < index + 2 or not _join(instructions, index + 1, place):
            return
        second = instructions[place]
        sides = [first.argval, second.argval]
        if type(sides[0]) is not type(sides[1]) or type(sides[0]) not in _KINDS or is_traced(sides[0]):
            return
        falls = this.opname.endswith("_FALSE")
        found = Choice(sides[::-1] if falls else sides, falls)
        self.jumps[index] = self.sides[index + 1] = found


def _join(instructions: Sequence[Any], first: int, second: int) -> bool:
    """Whether two instructions load the constants of two sides, after which both do the same."""
    tail, constant = instructions[first + 1 : second], instructions[first].opname
    if constant != instructions[second].opname:
        return False
    if constant == "RETURN_CONST":  # of Python 3.12 and 3.13
        return not tail
    if constant != "LOAD_CONST" or not tail:
        return False
    if [each.opname for each in tail] == ["JUMP_FORWARD"]:
        return tail[0].target is instructions[second + 1]
    other = instructions[second + 1 : second + 1 + len(tail)]  # Python repeats what ends a function
    return tail[-1].opname == "RETURN_VALUE" and list(map(_plain, tail)) == list(map(_plain, other))


def _plain(each: Any) -> Any:
    """An instruction without its place; one that jumps is like no other."""
    return each if each.target is not None else (each.opname, each.arg)


def may_choose(instructions: Sequence[Any], jumps: Sequence[str]) -> bool:
    """Whether instructions can hold a choice."""
    loads = ("LOAD_CONST", "RETURN_CONST")
    return any(a.opname in jumps and b.opname in loads for a, b in pairwise(instructions))
