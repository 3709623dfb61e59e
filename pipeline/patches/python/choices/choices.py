"""A choice between numbers or texts, such as ``"high" if x > 0 else name[:9]``, as look-ups.

Python runs one side of it only. Where data decides a condition, the code goes through all conditions of the choice, and
then through all of its sides, and a look-up chooses between what they give. A choice may have several conditions
(`and`, `or`, `elif`, one choice inside of another). Those after the first are run where Python might not, and so are
the sides: they hold what cannot fail and changes nothing. ``if n > most: n = most`` is a choice between what the
variable becomes and what it is.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import FrameType
from typing import Any

import torch

from ....proxies.base import is_traced
from ....proxies.lists import TracedList
from ....proxies.make import TracedOptional
from ....proxies.scalars import TracedNumber
from ....proxies.strings import TracedStr
from ....recording.recorder import Recorder
from ....rules.number_or_tensor import number_of
from ..operations import HandedOver, active
from .both_ways import FallibleSides, joined
from .code_paths import CodePaths
from .sides import KINDS, SideLoad, kind_of, kinds_of, note_kinds
from .sure_expressions import SureExpressions, is_ready

EndOf = Callable[[int, int], int | None]
"""Says where a side ends that begins at a place, and ends at another one at the latest."""


@dataclass
class _HowFar:
    """How far a choice has come.

    Attributes:
        values: what its sides give, as far as they were run; nodes: what each recorded, where these are cut out.
        mark: where the nodes of the side that runs begin.
        frame: the id of the frame that runs it: a side may call the function again.
        place: the number of the condition that is reached; after the last one, that of the side.
    """

    values: dict[int, Any]
    place: Any = None
    mark: int = 0
    frame: int = 0
    nodes: dict[int, list[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Sides:
    """The sides of a choice.

    Attributes:
        count: of them.
        alone: the variables and constants that are a side.
        loads: those in the others.
        kept: the variable that keeps its value on the last of them, which has no code then.
        multiplies: whether there is a product in one, so that no text may be in them, which could become too long.
    """

    count: int
    alone: Sequence[SideLoad]
    loads: Sequence[SideLoad]
    kept: SideLoad | None
    multiplies: bool
    fallible: FallibleSides | None = None

    def begun(self, recorder: Recorder, found: Any, frame: FrameType) -> _HowFar | None:
        """The beginning of a choice in a frame; None where a variable holds no number and no text, or sides differ."""
        if self.fallible is not None:
            takes = is_traced(found) and self.fallible.may_run(recorder, frame)
            return _HowFar({} if self.kept is None else {self.count - 1: self.kept.value(frame)}) if takes else None
        sides = [load.value(frame) for load in (*self.alone, *([self.kept] if self.kept else []))]
        alone: set[Any] = set().union(*map(kinds_of, sides))
        if _is_decided_by_data(recorder, found) and (alone != {type(None)} or len(sides) < self.count):
            alone -= {type(None)}
        kinds = alone | {kind_of(load.value(frame)) for load in self.loads}
        if len(alone) > 1 or not kinds <= set(KINDS) or (self.multiplies and str in kinds):
            note_kinds(kinds)
            return None
        return _HowFar({} if self.kept is None else {self.count - 1: self.kept.value(frame)})


class Choice:
    """One choice in the code of a function.

    Args:
        sides: its sides.
        steps: for each condition where it leads if it is false and if it is true: to the condition of that number, or,
            past the last one, to a side.
        ways: for each condition the truth with which the code goes to the next one, and from the last to a side.
    """

    def __init__(self, sides: Sides, steps: list[tuple[int, int]], ways: list[bool]) -> None:
        self.sides, self.steps, self.ways = sides, steps, ways
        self.reached: weakref.WeakKeyDictionary[Recorder, _HowFar] = weakref.WeakKeyDictionary()
        self.conditions = [HandedOver(functools.partial(self._decided, at), True) for at in range(len(steps))]

    def done(self, number: int, last: bool) -> HandedOver:
        """Takes what a side gives: for the last one that is run it gives the choice, else whether to go on as well."""
        return HandedOver(functools.partial(self._done, number, last))

    def _decided(self, at: int, found: Any) -> Any:
        """The truth that leads on to the next condition, where data decides; the condition itself elsewhere."""
        recorder = active()
        if recorder is None:
            return found
        frame = sys._getframe(2)  # the user's code asks
        reached = self._reached(recorder, frame) if at else None
        if reached is None:
            reached = None if type(found) is bool else self.sides.begun(recorder, found, frame)
        if reached is None:
            return found
        plain, found = found, number_of(recorder, found)
        if type(found) in (TracedStr, TracedList, TracedOptional):
            found = recorder.scalar("bool", found)
        traced = issubclass(type(found), TracedNumber)
        if not traced and reached.place is None:
            return plain
        found = recorder.scalar("bool", found) if traced else bool(found)
        reached.place = self._next(recorder, at, found, reached.place)
        self.reached[recorder], reached.mark, reached.frame = reached, len(recorder.nodes), id(frame)
        return self.ways[at]

    def _reached(self, recorder: Recorder, frame: FrameType) -> _HowFar | None:
        found = self.reached.get(recorder)
        return found if found is not None and found.frame == id(frame) else None

    def _next(self, recorder: Recorder, at: int, found: Any, before: Any) -> Any:
        """The number of the condition that is reached; after the last condition, that of the side."""
        last, count = at == len(self.steps) - 1, len(self.steps)
        steps = [step - count if last else step for step in self.steps[at]]
        if before is None:
            return found if steps == [0, 1] else recorder.scalar("lookup", steps, found)
        if type(found) is bool:
            steps = [steps[found]] * 2
        # Two entries for each number: what is reached already, past this condition, stays as it is.
        ends = range(self.sides.count) if last else range(count, count + self.sides.count)
        rest = [*([] if last else range(at + 1, count)), *ends]
        pairs = [*steps * (at + 1), *(entry for each in rest for entry in (each, each))]
        chosen = 0 if type(found) is bool else recorder.scalar("lookup", [0, 1], found)
        return recorder.scalar("lookup", pairs, before * 2 + chosen)

    def _done(self, number: int, last: bool, value: Any) -> Any:
        recorder = active()
        reached = None if recorder is None else self._reached(recorder, sys._getframe(2))
        if recorder is None or reached is None:
            return value if last else (False, value)
        reached.values[number] = value
        if self.sides.fallible is not None:
            reached.nodes[number] = recorder.nodes[reached.mark :]
            del recorder.nodes[reached.mark :]
        if not last:
            return True, value
        del self.reached[recorder]
        if self.sides.fallible is not None:
            sides = [(reached.nodes.get(each, []), reached.values[each]) for each in range(self.sides.count)]
            return joined(recorder, reached.place, sides, sys._getframe(2))
        table = [reached.values[each] for each in range(self.sides.count)]
        kinds = set().union(*map(kinds_of, table)) - {type(None)}
        if len(kinds) == 1 and kinds <= set(KINDS):
            return recorder.scalar("lookup", table, reached.place)
        note_kinds(kinds)
        return next((each for at, each in enumerate(table[:-1]) if reached.place == at), table[-1])


def _is_decided_by_data(recorder: Recorder, condition: Any) -> bool:
    """Whether a way that Python does not take is no way of a loop, and no condition of the signature."""
    varies = isinstance(condition, torch.Tensor) or (is_traced(condition) and condition.varies)
    return varies and not recorder.rounds.open


@dataclass(frozen=True)
class End:
    """What follows the last instruction of a side.

    Attributes:
        done: takes what the side gives.
        after: the instruction at which the code goes on behind the choice; None at the end of the last side.
        following: the first instruction of the next side.
        backward: whether that stands before.
    """

    done: HandedOver
    after: Any = None
    following: Any = None
    backward: bool = False


class Choices:
    """The choices in some instructions.

    Attributes:
        jumps: the index of each jump by a condition -> what takes the condition.
        ends: the index of the last instruction of each side -> what follows it.
    """

    def __init__(self, instructions: Sequence[Any], jumps: Sequence[str], others: Collection[int]) -> None:
        self.jumps: dict[int, HandedOver] = {}
        self.ends: dict[int, End] = {}
        self.instructions, self.names = instructions, jumps
        self.paths, self.expressions = CodePaths(instructions), SureExpressions(instructions)
        for index, this in enumerate(instructions[:-2]):
            if this.opname in jumps and index not in self.jumps and index not in others:
                chain = self._chain(index)
                counts = range(len(chain), 0, -1)
                expressions = self.expressions
                ways = (expressions.end, expressions.any_end, expressions.returned_end)
                any(self._add(chain[:count], end_of) for end_of in ways for count in counts)

    def _goals(self, jump: int) -> tuple[int, int]:
        """Where a jump goes on: without jumping, and jumping, where ``a < b < c`` leaves its middle to be dropped."""
        goes = self.paths.places.get(id(self.instructions[jump].target), 0)
        return self.paths.onwards(jump + 1), self.paths.onwards(goes + (self.instructions[goes].opname == "POP_TOP"))

    def _condition(self, start: int) -> int | None:
        """The jump by the condition that begins at an instruction, if that holds comparisons only."""
        for index in range(start, len(self.instructions)):
            if self.instructions[index].opname in self.names and index > start:
                return index
            if not is_ready(self.instructions, index):
                break
        return None

    def _chain(self, first: int) -> list[int]:
        """The jumps by all conditions of a choice, each of which the one before it can lead to."""
        chain = [first]
        while True:
            following = [self._condition(goal) for goal in self._goals(chain[-1]) if goal > chain[-1]]
            found = min((each for each in following if each is not None), default=None)
            if found is None or found <= chain[-1] or found in self.jumps:
                return chain
            chain.append(found)

    def _add(self, chain: list[int], end_of: EndOf) -> bool:
        """Takes the jumps as one choice, if they lead to sides after which the code does the same.

        Args:
            chain: the jumps.
            end_of: says where a side ends.
        """
        fallible = end_of != self.expressions.end
        starts = {self._condition(goal): goal for jump in chain for goal in self._goals(jump)}
        numbers = {starts[jump]: number for number, jump in enumerate(chain) if number and jump in starts}
        leaves = sorted({goal for jump in chain for goal in self._goals(jump) if goal not in numbers})
        landing = self._goals(chain[-1])[0]
        if len(numbers) != len(chain) - 1 or len(leaves) < 2 or leaves[0] < chain[0] or landing not in leaves:
            return False
        numbers |= {leaf: len(chain) + place for place, leaf in enumerate(leaves)}
        steps, ways = [], []
        for place, jump in enumerate(chain):
            falls, (stays, goes) = self.instructions[jump].opname.endswith("_FALSE"), self._goals(jump)
            steps.append((numbers[goes], numbers[stays]) if falls else (numbers[stays], numbers[goes]))
            onwards = place + 1 == len(chain) or numbers[stays] == place + 1
            if not onwards and numbers[goes] != place + 1:
                return False
            ways.append(falls if onwards else not falls)
        spans, kept = self._spans(leaves, end_of)
        if fallible and not self.expressions.are_apart(spans):
            return False
        if not spans or landing not in spans or any(end - 1 in self.ends for end in spans.values()):
            return False
        loads = [(span, load) for span in spans.items() for load in self.expressions.loads(*span)]
        alone = [load for (start, end), load in loads if end == start + 1]
        others = [load for (start, end), load in loads if end > start + 1]
        multiplies = any(self.expressions.multiplies(*span) for span in spans.items())
        code = [each for span in spans.items() for each in self.instructions[slice(*span)]]
        sides = FallibleSides(len(leaves), code) if fallible else None
        choice = Choice(Sides(len(leaves), alone, others, kept, multiplies, sides), steps, ways)
        self.jumps |= dict(zip(chain, choice.conditions, strict=True))
        self._end(choice, leaves, spans, landing)
        return True

    def _spans(self, leaves: Sequence[int], end_of: EndOf) -> tuple[dict[int, int], SideLoad | None]:
        """Where the code of each side begins -> where it ends; and the variable that the last side leaves as it is.

        Empty where there is a side that may fail, or code after the sides that differs.
        """
        found: dict[int, int] = {}
        most = len(self.instructions)
        for leaf in leaves:
            end = end_of(leaf, most)
            stored = self.instructions[found[leaves[0]]] if found else None
            if stored is not None and stored.opname == "STORE_FAST" and leaf == leaves[-1]:
                names = {(self.instructions[each].opname, self.instructions[each].argval) for each in found.values()}
                if len(names) == 1 and all(self.paths.onwards(each + 1) == leaf for each in found.values()):
                    return found, SideLoad("LOAD_FAST", stored.argval)
            if end is None:
                return {}, None
            if self.instructions[end].opname == "JUMP_FORWARD" and most == len(self.instructions):
                most = self.paths.places[id(self.instructions[end].target)]
            found[leaf] = end
        first, *others = found.values()
        return (found if all(self.paths.meet(first, other) for other in others) else {}), None

    def _end(self, choice: Choice, leaves: list[int], spans: dict[int, int], landing: int) -> None:
        """Notes what follows each side: the code begins with one, and goes on to the others."""
        order = [landing, *(leaf for leaf in spans if leaf != landing)]
        for leaf, following in pairwise(order):
            after, goal = self.instructions[spans[leaf]], self.instructions[following]
            done = choice.done(leaves.index(leaf), last=False)
            self.ends[spans[leaf] - 1] = End(done, after, goal, backward=following < leaf)
        self.ends[spans[order[-1]] - 1] = End(choice.done(leaves.index(order[-1]), last=True))


_COPIES = ("COPY", "DUP_TOP", "TO_BOOL")


def may_choose(instructions: Sequence[Any], jumps: Sequence[str]) -> bool:
    """Whether instructions, as `dis` gives them, can hold a choice or a connective; to change code takes seconds."""
    places = {each.offset: index for index, each in enumerate(instructions)}
    for this, after in pairwise(instructions):
        if this.opname.endswith("_OR_POP") or (this.opname in _COPIES and "JUMP" in after.opname):
            return True
        if this.opname not in jumps:
            continue
        if after.opname in ("JUMP_FORWARD", "LOAD_CONST", "RETURN_CONST"):
            return True
        end = places.get(this.argval, 0)
        if _loads(after) and (_loads(instructions[end]) or instructions[end - 1].opname.startswith("STORE_FAST")):
            return True
    return False


def _loads(instruction: Any) -> bool:
    """Whether a side may begin with an instruction."""
    name: str = instruction.opname
    return name.startswith(("LOAD_", "PUSH_NULL", "RETURN_CONST")) and name != "LOAD_ASSERTION_ERROR"
