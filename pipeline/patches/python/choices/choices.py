"""A choice among constants and variables, such as ``"high" if x > 0 else name``, as look-ups in tables.

Python runs one side of it only. What all sides load is there already, so where data decides a condition, the code goes
through all conditions of the choice to one side, and there what stands for all of them takes the place of what it
loads. A choice may have several conditions (`and`, `or`, `elif`, one choice inside of another): those after the first
are run where Python might not, so they may hold comparisons, and lengths of variables, only, which cannot fail and
change nothing. ``if n > most: n = most`` is a choice between the variable as it is and what it becomes.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any

from ....proxies.base import is_traced
from ....proxies.lists import TracedList
from ....proxies.scalars import TracedNumber
from ....proxies.strings import TracedStr
from ....recording.recorder import Recorder
from ....rules.number_or_tensor import number_of
from ..loops.growing import asked
from ..operations import HandedOver, active
from .sides import Side, side_of, values_of

_PURE = frozenset(
    """COMPARE_OP CONTAINS_OP IS_OP UNARY_NOT TO_BOOL NOP LOAD_CONST LOAD_GLOBAL LOAD_DEREF
    COPY SWAP DUP_TOP ROT_TWO ROT_THREE""".split()
)


class Choice:
    """One choice in the code of a function.

    Args:
        sides: what its sides load.
        steps: for each condition where it leads if it is false and if it is true: to the condition of that number, or,
            past the last one, to a side.
        ways: for each condition the truth with which the code goes to the next one, and from the last to a side.
    """

    def __init__(self, sides: list[Side], steps: list[tuple[int, int]], ways: list[bool]) -> None:
        self.sides, self.steps, self.ways = sides, steps, ways
        self.reached: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self.conditions = [HandedOver(functools.partial(self._decided, at), True) for at in range(len(steps))]
        self.side = HandedOver(self._taken)

    def _decided(self, at: int, found: Any) -> Any:
        """The truth that leads on to the next condition, where data decides; the condition itself elsewhere."""
        recorder = active()
        if recorder is None:
            return found
        found = number_of(recorder, found)
        if type(found) in (TracedStr, TracedList):
            found = recorder.scalar("bool", found)
        table, before = self.reached.get(recorder, _NOTHING) if at else _NOTHING
        traced = issubclass(type(found), TracedNumber)
        if before is None:
            table = values_of(self.sides, sys._getframe(_USERS)) if traced else None
        if table is None:
            return found
        found = recorder.scalar("bool", found) if traced else bool(found)
        self.reached[recorder] = table, self._next(recorder, at, found, table, before)
        return self.ways[at]

    def _next(self, recorder: Recorder, at: int, found: Any, table: list[Any], before: Any) -> Any:
        """The number of the condition or side that is reached; after the last condition, the value of the side."""
        last = at == len(self.steps) - 1
        steps = [table[step - len(self.steps)] if last else step for step in self.steps[at]]
        if before is None:
            return recorder.scalar("lookup", steps, found)
        if not is_traced(found):
            steps = [steps[found]] * 2
        # Two entries for each number: what is reached already, past this condition, stays as it is.
        ends = table if last else list(range(len(self.steps), len(self.steps) + len(table)))
        rest = [*([] if last else range(at + 1, len(self.steps))), *ends]
        pairs = [*steps * (at + 1), *(entry for each in rest for entry in (each, each))]
        chosen = recorder.scalar("lookup", [0, 1], found) if is_traced(found) else 0
        return recorder.scalar("lookup", pairs, before * 2 + chosen)

    def _taken(self, loaded: Any) -> Any:
        recorder = active()
        return loaded if recorder is None else self.reached.pop(recorder, (None, loaded))[1]


_NOTHING = (None, None)
_USERS = 2  # frames up: the code of the user asks a HandedOver


class Choices:
    """The choices in some instructions.

    Attributes:
        jumps: the index of each jump by a condition -> what takes the condition.
        sides: the index of the load to which the code goes -> its choice.
    """

    def __init__(self, instructions: Sequence[Any], jumps: Sequence[str], others: Collection[int]) -> None:
        self.jumps: dict[int, HandedOver] = {}
        self.sides: dict[int, Choice] = {}
        self.instructions, self.names = instructions, jumps
        self.places = {id(each): index for index, each in enumerate(instructions)}
        for index, this in enumerate(instructions[:-2]):
            if this.opname in jumps and index not in self.jumps and index not in others:
                chain = self._chain(index)
                any(self._add(chain[:count]) for count in range(len(chain), 0, -1))

    def _sides(self, jump: int) -> tuple[int, int]:
        """Where a jump goes on: without jumping, and jumping, where ``a < b < c`` leaves its middle to be dropped."""
        goes = self.places.get(id(self.instructions[jump].target), 0)
        return self._onwards(jump + 1), self._onwards(goes + (self.instructions[goes].opname == "POP_TOP"))

    def _condition(self, start: int) -> int | None:
        """The jump by the condition that begins at an instruction, if that holds comparisons only."""
        for index in range(start, len(self.instructions)):
            name = self.instructions[index].opname
            if name in self.names and index > start:
                return index
            if not is_ready(self.instructions, index):
                break
        return None

    def _chain(self, first: int) -> list[int]:
        """The jumps by all conditions of a choice, each of which the one before it can lead to."""
        chain = [first]
        while True:
            following = [self._condition(side) for side in self._sides(chain[-1]) if side > chain[-1]]
            found = min((each for each in following if each is not None), default=None)
            if found is None or found <= chain[-1] or found in self.jumps:
                return chain
            chain.append(found)

    def _add(self, chain: list[int]) -> bool:
        """Takes the jumps as one choice, if they lead to loads after which the code does the same."""
        starts = {self._condition(side): side for jump in chain for side in self._sides(jump)}
        numbers = {starts[jump]: number for number, jump in enumerate(chain) if number and jump in starts}
        if len(numbers) != len(chain) - 1:
            return False
        found = [side for jump in chain for side in self._sides(jump) if side not in numbers]
        leaves = sorted(set(found))
        sides = (self._loads(leaves) or self._stores(leaves)) if len(leaves) > 1 and leaves[0] >= chain[0] else []
        if not sides:
            return False
        numbers |= {leaf: len(chain) + place for place, leaf in enumerate(leaves)}
        steps, ways = [], []
        for place, jump in enumerate(chain):
            falls, (stays, goes) = self.instructions[jump].opname.endswith("_FALSE"), self._sides(jump)
            steps.append((numbers[goes], numbers[stays]) if falls else (numbers[stays], numbers[goes]))
            onwards = place + 1 == len(chain) or numbers[stays] == place + 1
            if not onwards and numbers[goes] != place + 1:
                return False
            ways.append(falls if onwards else not falls)
        landing = self._sides(chain[-1])[0]
        if landing not in leaves or landing in self.sides:
            return False
        choice = self.sides[landing] = Choice(sides, steps, ways)
        self.jumps |= dict(zip(chain, choice.conditions, strict=True))
        return True

    def _loads(self, leaves: Sequence[int]) -> list[Side]:
        """What each side loads, after which all do the same; empty where they do not."""
        sides = [side for leaf in leaves if (side := side_of(self.instructions[leaf])) is not None]
        constants = {type(side.what) for side in sides if side.is_constant}
        alike = len(sides) == len(leaves) and len(constants) <= 1
        return sides if alike and all(self._join(leaves[0], leaf) for leaf in leaves[1:]) else []

    def _stores(self, leaves: Sequence[int]) -> list[Side]:
        """What a variable becomes on each side, where the last one leaves it as it is; empty where there is no such."""
        *others, end = leaves
        stores = [self.instructions[leaf + 1] for leaf in others]
        sides = [side for leaf in others if (side := side_of(self.instructions[leaf])) is not None]
        names = {(store.opname, store.argval) for store in stores}
        alike = len(sides) == len(others) and len(names) == 1 and stores[0].opname == "STORE_FAST"
        if not alike or any(self._onwards(leaf + 2) != end for leaf in others):
            return []
        return [*sides, Side("LOAD_FAST", stores[0].argval)]

    def _join(self, one: int, other: int) -> bool:
        """Whether two instructions load what two sides give, after which both do the same."""
        ends = [self.instructions[side].opname == "RETURN_CONST" for side in (one, other)]
        if any(ends):
            values = [self._onwards(side + 1) for side, end in zip((one, other), ends, strict=True) if not end]
            return all(self.instructions[value].opname == "RETURN_VALUE" for value in values)
        one, other = self._onwards(one + 1), self._onwards(other + 1)
        while one != other:
            a, b = self.instructions[one], self.instructions[other]
            if (a.opname, a.arg) != (b.opname, b.arg) or a.target is not None:
                return False
            if a.opname == "RETURN_VALUE":  # Python repeats what ends a function
                return True
            one, other = self._onwards(one + 1), self._onwards(other + 1)
        return True

    def _onwards(self, index: int) -> int:
        """The instruction that follows where only jumps forward stand between."""
        while self.instructions[index].opname in ("JUMP_FORWARD", "NOP"):
            jumps = self.instructions[index].opname == "JUMP_FORWARD"
            index = self.places[id(self.instructions[index].target)] if jumps else index + 1
        return index


def is_ready(instructions: Sequence[Any], index: int) -> bool:
    """Whether an instruction belongs to comparisons and lengths of variables, which may run where Python might not."""
    name = instructions[index].opname
    return name in _PURE or name.startswith("LOAD_FAST") or _asks_length(instructions, index)


def _asks_length(instructions: Sequence[Any], index: int) -> bool:
    """Whether an instruction calls `len` for a local variable, or prepares a call."""
    name, load = instructions[index].opname, index - 1
    if not name.startswith("CALL"):
        return name in ("PUSH_NULL", "MAKE_FUNCTION", "PRECALL")
    load -= instructions[load].opname == "PRECALL"
    given = instructions[load].opname.startswith("LOAD_FAST") and instructions[index].arg == 1
    return given and asked(instructions, load) == "len"


_COPIES = ("COPY", "DUP_TOP", "TO_BOOL")


def may_choose(instructions: Sequence[Any], jumps: Sequence[str]) -> bool:
    """Whether instructions, as `dis` gives them, can hold a choice or a connective; to change code takes seconds."""
    places = {each.offset: index for index, each in enumerate(instructions)}
    for index, (this, after) in enumerate(pairwise(instructions)):
        if this.opname.endswith("_OR_POP") or (this.opname in _COPIES and "JUMP" in after.opname):
            return True
        if this.opname not in jumps:
            continue
        if after.opname == "JUMP_FORWARD" or ((side := side_of(after)) and side.is_constant):
            return True
        end = places.get(this.argval, 0)
        if side and (side_of(instructions[end]) or end == index + 3):
            return True
    return False
