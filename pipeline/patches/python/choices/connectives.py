"""``x and y``, ``x or y`` and ``x < y < z`` as values: where data decides the truth of the first, a look-up chooses.

Python runs y where it needs it only. Here it is run before, so it may hold what a choice may ask for only: comparisons,
and lengths of variables, which cannot fail and change nothing.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Sequence
from typing import Any

from ....proxies.base import is_traced
from ....proxies.make import TracedOptional
from ....recording.recorder import Recorder
from ....rules.number_or_tensor import number_of
from ..operations import HandedOver, active
from .sides import KINDS, kind_of, kinds_of, note_kinds
from .sure_expressions import is_ready


class Connective:
    """One of them, such as ``a and b and c``.

    Args:
        ends: the truth of an operand with which it is the value: that of `or` is True.
        count: of the operands but the last one.
    """

    def __init__(self, ends: bool, count: int) -> None:
        self.ends = ends
        self.reached: weakref.WeakKeyDictionary[Recorder, Any] = weakref.WeakKeyDictionary()
        self.firsts = [HandedOver(functools.partial(self._first, at)) for at in range(count)]
        self.last = HandedOver(self._last)

    def _first(self, at: int, found: Any) -> Any:
        """The truth that leads on to the next operand, where data decides; the operand itself elsewhere."""
        recorder = active()
        if recorder is None:
            return found
        if not at:
            self.reached.pop(recorder, None)
        found = self._joined(recorder, found)
        if not is_traced(found) or not (kind_of(found) in KINDS or type(found) is TracedOptional):
            return found
        self.reached[recorder] = found
        return not self.ends

    def _last(self, found: Any) -> Any:
        recorder = active()
        return found if recorder is None else self._joined(recorder, found)

    def _joined(self, recorder: Recorder, found: Any) -> Any:
        """The value of all operands up to one."""
        before = self.reached.pop(recorder, None)
        found = number_of(recorder, found)
        if before is None:
            return found
        kinds = (kinds_of(before) | kinds_of(found)) - {type(None)}
        if len(kinds) > 1 or not kinds <= set(KINDS):
            note_kinds(kinds)
            return (before or found) if self.ends else (before and found)
        table = [found, before] if self.ends else [before, found]
        result = recorder.scalar("lookup", table, recorder.scalar("bool", before))
        sure = self.ends and type(result) is TracedOptional and kind_of(found) in KINDS
        return result.known() if sure else result


class Connectives:
    """The connectives in some instructions.

    Attributes:
        firsts: the index of the instruction before which an operand is there that may be the value -> what takes it.
        lasts: the index of the instruction that gives the last operand -> what takes it.
        jumps: the indices of their jumps.
    """

    def __init__(self, instructions: Sequence[Any]) -> None:
        self.firsts: dict[int, HandedOver] = {}
        self.lasts: dict[int, HandedOver] = {}
        self.jumps: set[int] = set()
        self.instructions = instructions
        self.places = {id(each): index for index, each in enumerate(instructions)}
        self.targets = {id(each.target) for each in instructions if each.target is not None}
        for index in range(len(instructions) - 1):
            jump = self._jump(index)
            if jump is not None and jump not in self.jumps:
                self._add(index, jump)

    def _jump(self, index: int) -> int | None:
        """The jump by an operand that is there before an instruction, which stays on the stack if it is the value."""
        name = self.instructions[index].opname
        if name.startswith("JUMP_IF_") and name.endswith("_OR_POP"):
            return index
        if name not in ("COPY", "DUP_TOP") or self.instructions[index].arg not in (1, None):
            return None
        jump = index + 1 + (self.instructions[index + 1].opname == "TO_BOOL")
        names = [each.opname for each in self.instructions[jump : jump + 2]]
        jumps = names[0].startswith("POP_JUMP_") and "_NONE" not in names[0]
        return jump if jumps and names[1:] == ["POP_TOP"] else None

    def _add(self, first: int, jump: int) -> None:
        """Takes the operands from one on as a connective, if the others hold nothing but what cannot fail."""
        goal = self._goal(jump)
        end, at = self._end(jump), self._after(jump)
        begins, jumps = [first], [jump]
        while at < end:
            found = self._jump(at)
            if id(self.instructions[at]) in self.targets:  # as in `a and b or c`
                return
            if found is None and is_ready(self.instructions, at):
                at += 1
            elif found is not None and self._goal(found) == goal:
                begins.append(at)
                jumps.append(found)
                at = self._after(found)
            else:
                return
        if end <= first or at > end or end - 1 in self.lasts:
            return
        made = Connective(goal[1], len(begins))
        self.firsts |= dict(zip(begins, made.firsts, strict=True))
        self.lasts[end - 1] = made.last
        self.jumps |= set(jumps)

    def _end(self, jump: int) -> int:
        """The instruction after the last operand; where a jump of ``x < y < z`` drops y, that is before its target.

        What follows stands behind both, or, up to a return, twice.
        """
        target = self.places[id(self.instructions[jump].target)]
        names = [each.opname for each in self.instructions[target : target + 2]]
        if names[0] not in ("SWAP", "ROT_TWO") or names[1:] != ["POP_TOP"]:
            return target
        before, after = self.instructions[target - 1], target + 2
        if before.opname == "JUMP_FORWARD":
            return target - 1 if before.target is self.instructions[after] else 0
        size = 1 + next(
            (at for at, each in enumerate(self.instructions[after:]) if each.opname == "RETURN_VALUE"), target
        )
        pairs = zip(self.instructions[target - size : target], self.instructions[after:], strict=False)
        same = all(one.opname == other.opname and one.argval == other.argval for one, other in pairs)
        return target - size if size < target and same else 0

    def _goal(self, jump: int) -> tuple[Any, bool]:
        """Where a jump goes to, and by which truth."""
        return self.instructions[jump].target, "_TRUE" in self.instructions[jump].opname

    def _after(self, jump: int) -> int:
        """The first instruction of the operand after a jump."""
        return jump + 1 + int(self.instructions[jump].opname.startswith("POP_JUMP"))
