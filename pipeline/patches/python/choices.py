"""A choice among constants, such as ``"high" if x > 0 else "low"``, as look-ups in tables of constants.

Python runs one side of it only. All sides are known here, so where data decides a condition, the code goes through
all conditions of the choice to one side, and there what stands for all of them takes the place of its constant. A
choice may have several conditions (`and`, `or`, `elif`, one choice inside of another): those after the first are run
where Python might not, so they may hold comparisons, and lengths of variables, only, which cannot fail and change
nothing.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ...proxies.base import is_traced
from ...proxies.lists import TracedList
from ...proxies.scalars import TracedNumber
from ...proxies.strings import TracedStr
from ...recording.recorder import Recorder
from ...rules.number_or_tensor import number_of
from .loops.growing import asked
from .operations import HandedOver, active

_KINDS = (str, int, float, bool)
_CONSTANTS = ("LOAD_CONST", "RETURN_CONST")  # the second is of Python 3.12 and 3.13
_PURE = frozenset(
    """COMPARE_OP CONTAINS_OP IS_OP UNARY_NOT TO_BOOL NOP LOAD_CONST LOAD_GLOBAL LOAD_DEREF
    COPY SWAP DUP_TOP ROT_TWO ROT_THREE""".split()
)


class Choice:
    """One choice in the code of a function.

    Args:
        table: the constants of its sides.
        steps: for each condition where it leads if it is false and if it is true: to the condition of that number, or,
            past the last one, to a side.
        ways: for each condition the truth with which the code goes to the next one, and from the last to a side.
    """

    def __init__(self, table: list[Any], steps: list[tuple[int, int]], ways: list[bool]) -> None:
        self.table, self.steps, self.ways = table, steps, ways
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
        before = self.reached.get(recorder) if at else None
        traced = issubclass(type(found), TracedNumber)
        if before is None and not traced:
            return found
        found = recorder.scalar("bool", found) if traced else bool(found)
        self.reached[recorder] = self._next(recorder, at, found, before)
        return self.ways[at]

    def _next(self, recorder: Recorder, at: int, found: Any, before: Any) -> Any:
        """The number of the condition or side that is reached; after the last condition, the constant."""
        last = at == len(self.steps) - 1
        steps = [self.table[step - len(self.steps)] if last else step for step in self.steps[at]]
        if before is None:
            return recorder.scalar("lookup", steps, found)
        if not is_traced(found):
            steps = [steps[found]] * 2
        # Two entries for each number: what is reached already, past this condition, stays as it is.
        ends = self.table if last else list(range(len(self.steps), len(self.steps) + len(self.table)))
        rest = [*([] if last else range(at + 1, len(self.steps))), *ends]
        pairs = [*steps * (at + 1), *(entry for each in rest for entry in (each, each))]
        chosen = recorder.scalar("lookup", [0, 1], found) if is_traced(found) else 0
        return recorder.scalar("lookup", pairs, before * 2 + chosen)

    def _taken(self, constant: Any) -> Any:
        recorder = active()
        return constant if recorder is None else self.reached.pop(recorder, constant)


def _either(pair: tuple[Any, Any]) -> Any:
    """Stands for ``x or y`` where both are there already, so that a look-up chooses."""
    recorder, (found, other) = active(), pair
    if recorder is None:
        return found or other
    found = number_of(recorder, found)
    kinds = [type(each.concrete) if is_traced(each) else type(each) for each in (found, other)]
    if not is_traced(found) or kinds[0] is not kinds[1] or kinds[0] not in _KINDS:
        return found or other
    return recorder.scalar("lookup", [other, found], recorder.scalar("bool", found))


EITHER = HandedOver(_either)


class Defaults:
    """The ``x or y`` in some instructions, where y is a constant or a local variable.

    Attributes:
        ends: the index of the jump by the truth of x -> the instruction that loads y.
        dropped: the indices of the instructions that are needed no more.
    """

    def __init__(self, instructions: Sequence[Any]) -> None:
        self.ends: dict[int, Any] = {}
        self.dropped: set[int] = set()
        targets = {id(each.target) for each in instructions if each.target is not None}
        for at in range(len(instructions) - 2):
            names = [each.opname for each in instructions[at : at + 5]]
            copies = names[0] in ("COPY", "DUP_TOP") and instructions[at].arg in (1, None)
            jump = next((place for place in (0, 1, 2) if names[place].endswith(_IF_TRUE)), None)
            if jump is None or (jump > 0) is not copies or (jump > 1) is not (names[1] == "TO_BOOL"):
                continue
            pops = names[jump + 1 : jump + 2] == ["POP_TOP"]
            load = at + jump + 1 + pops
            if pops is not copies or load + 1 >= len(instructions) or instructions[load].opname not in _READY:
                continue
            rest = set(range(at, load + 1)) - {at + jump}
            entered = any(id(instructions[place]) in targets for place in rest)  # as in `a and b or "c"`
            if instructions[at + jump].target is instructions[load + 1] and not entered:
                self.ends[at + jump] = instructions[load]
                self.dropped |= rest


_READY = ("LOAD_CONST", "LOAD_FAST")
_IF_TRUE = ("JUMP_IF_TRUE_OR_POP", "POP_JUMP_IF_TRUE", "POP_JUMP_FORWARD_IF_TRUE")


class Choices:
    """The choices in some instructions.

    Attributes:
        jumps: the index of each jump by a condition -> what takes the condition.
        sides: the index of the constant to which the code goes -> its choice.
    """

    def __init__(self, instructions: Sequence[Any], jumps: Sequence[str]) -> None:
        self.jumps: dict[int, HandedOver] = {}
        self.sides: dict[int, Choice] = {}
        self.instructions, self.names = instructions, jumps
        self.places = {id(each): index for index, each in enumerate(instructions)}
        for index, this in enumerate(instructions[:-2]):
            if this.opname in jumps and index not in self.jumps:
                self._add(self._chain(index)) or self._add([index])

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
            if name not in _PURE and not name.startswith("LOAD_FAST") and not self._asks_length(index):
                break
        return None

    def _asks_length(self, index: int) -> bool:
        """Whether an instruction calls `len` for a local variable, or prepares a call."""
        name, load = self.instructions[index].opname, index - 1
        if not name.startswith("CALL"):
            return name in ("PUSH_NULL", "MAKE_FUNCTION", "PRECALL")
        load -= self.instructions[load].opname == "PRECALL"
        given = self.instructions[load].opname.startswith("LOAD_FAST") and self.instructions[index].arg == 1
        return given and asked(self.instructions, load) == "len"

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
        """Takes the jumps as one choice, if they lead to constants after which the code does the same."""
        starts = {self._condition(side): side for jump in chain for side in self._sides(jump)}
        numbers = {starts[jump]: number for number, jump in enumerate(chain) if number and jump in starts}
        if len(numbers) != len(chain) - 1:
            return False
        found = [side for jump in chain for side in self._sides(jump) if side not in numbers]
        leaves = sorted(set(found))
        table = [self.instructions[leaf].argval for leaf in leaves]
        kinds = {type(each) for each in table}
        if len(leaves) < 2 or leaves[0] < chain[0] or len(kinds) != 1 or not kinds <= set(_KINDS):
            return False
        if not all(self._join(leaves[0], leaf) for leaf in leaves[1:]) or any(map(is_traced, table)):
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
        choice = self.sides[landing] = Choice(table, steps, ways)
        self.jumps |= dict(zip(chain, choice.conditions, strict=True))
        return True

    def _join(self, one: int, other: int) -> bool:
        """Whether two instructions load the constants of two sides, after which both do the same."""
        name = self.instructions[one].opname
        if name != self.instructions[other].opname or name not in _CONSTANTS:
            return False
        if name == "RETURN_CONST":
            return True
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


def may_choose(instructions: Sequence[Any], jumps: Sequence[str]) -> bool:
    """Whether instructions can hold a choice."""
    if any(a.opname in jumps and b.opname in _CONSTANTS for a, b in pairwise(instructions)):
        return True
    return any(each.opname.endswith(_IF_TRUE) for each in instructions)
