"""``while`` loops as ``for`` loops without an end that are left where their condition does not hold.

Python asks the condition once before the loop and once behind its body. Here it is asked at the beginning of each round
of a loop over nothing in particular, and ``break`` leaves that where it does not hold: what is known of ``for`` loops
that carry values, and of how they are left, is known of these then, too.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from types import CodeType
from typing import Any

from ..assembly import applied, assembler, plain_instructions, rewritten, tuple_of
from ..loops.flow import LOADS, LocalFlow
from ..loops.outlined import outlined
from .ends import end_by_conditions

_RETURNS, _TRUTHS = "RETURN_VALUE", ("_IF_TRUE", "_IF_FALSE")


@dataclass(frozen=True)
class WhileLoop:
    """A ``while`` loop, by the indices of its instructions.

    Attributes:
        start: the first one of its condition; body: the first one of its body.
        again: the first one of the condition behind the body; last: that which jumps back.
        end: the first one after the loop.
        names: the local variables that it reads.
    """

    start: int
    body: int
    again: int
    last: int
    end: int
    names: tuple[str, ...]


def while_loop(code: Sequence[Any], given: Sequence[str]) -> WhileLoop | None:
    """The first loop in some instructions whose form is known, if there is one.

    Args:
        code: the instructions.
        given: the names of the arguments.
    """
    places = {id(each): at for at, each in enumerate(code)}
    found = (_loop(code, places, at, given) for at in range(len(code)))
    return next((each for each in found if each is not None), None)


def _loop(code: Sequence[Any], places: dict[int, int], at: int, given: Sequence[str]) -> WhileLoop | None:
    """The loop whose last instruction jumps back by a condition."""
    back = code[at]
    if back.target is None or places[id(back.target)] >= at:
        return None
    body, end = places[id(back.target)], at + 1
    if not code[body - 1].opname.endswith(_TRUTHS):
        return None
    jump = at
    if "IF" not in back.opname:  # from Python 3.12 on a jump past this one has the condition
        jump = at - 1
        if not code[jump].opname.endswith(_TRUTHS) or code[jump].target is not code[end]:
            return None
    same = code[body - 1].opname.endswith("_FALSE") is code[jump].opname.endswith("_FALSE")
    if same is (jump == at):
        return None
    starts = _conditions(code, body - 1, jump, (code[body], code[end]))
    if starts is None:
        return None
    start, again = starts
    loop = WhileLoop(start, body, again, at, end, _names(code, range(start, again), given))
    return loop if loop.names and _is_plain(code, places, loop) else None


def _conditions(code: Sequence[Any], one: int, other: int, ends: Sequence[Any]) -> tuple[int, int] | None:
    """Where the condition begins that two jumps decide by, if it is the same one."""
    found = None
    while one > 0 and code[one].opname.startswith("POP_JUMP") and any(code[one].target is end for end in ends):
        if found is not None and code[one].opname != code[other].opname.replace("BACKWARD", "FORWARD"):
            break
        first, second = _expression(code, one), _expression(code, other)
        if first is None or second is None or not _alike(code[first:one], code[second:other]):
            break
        found, one, other = (first, second), first - 1, second - 1
    return found


def _expression(code: Sequence[Any], jump: int) -> int | None:
    """Where an expression without jumps begins whose truth a jump asks for."""
    depth = 0
    for at in range(jump - 1, 0, -1):
        each = code[at]
        if each.target is not None or each.opname == _RETURNS:
            return None
        depth += dis.stack_effect(each.opcode, (each.arg or 0) if each.opcode >= dis.HAVE_ARGUMENT else None)
        if depth == 1:
            return at
    return None


def _alike(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether some instructions do what others do: constants may have other numbers."""
    one, other = ([each for each in side if each.opname != "NOP"] for side in (one, other))
    pairs = list(zip(one, other, strict=False))
    if len(one) != len(other) or any(a.opname != b.opname or a.argval != b.argval for a, b in pairs):
        return False
    return all(a.arg == b.arg or a.argval is not None for a, b in pairs)


def _names(code: Sequence[Any], loop: range, given: Sequence[str]) -> tuple[str, ...]:
    """The local variables with values that a loop reads, which may decide how long it goes on."""
    flow, names = LocalFlow(code), dict.fromkeys(code[at].argval for at in loop if code[at].opname in LOADS)
    return tuple(name for name in names if name in given or not flow.may_lack(name, loop.start))


def _is_plain(code: Sequence[Any], places: dict[int, int], loop: WhileLoop) -> bool:
    """Whether all ways into a loop and out of it are known."""
    inside = range(loop.start, loop.last + 1)
    if any(code[at].exn_tab_entry is not code[loop.start].exn_tab_entry for at in inside):
        return False
    if any(code[at].opname.startswith(("SETUP_", "YIELD", "RAISE", "RERAISE")) for at in inside):
        return False
    inner = [range(at, places[id(code[at].target)]) for at in inside if code[at].opname == "FOR_ITER"]
    if any(code[at].opname == _RETURNS and any(at in each for each in inner) for at in inside):
        return False
    for at, each in enumerate(code):
        goes = None if each.target is None else places[id(each.target)]
        if goes is None:
            continue
        if at in inside and goes not in inside and (goes != loop.end or any(at in each for each in inner)):
            return False
        entered = at not in inside and goes in inside and goes != loop.start
        amid = loop.start < goes < loop.body or loop.again < goes <= loop.last
        into_body = goes == loop.body and at not in (
            loop.last,
            *range(loop.start, loop.body),
            *range(loop.again, at + 1),
        )
        if entered or (amid and not _of_condition(loop, at)) or into_body:
            return False
    return True


def _of_condition(loop: WhileLoop, at: int) -> bool:
    return loop.start <= at < loop.body or loop.again <= at <= loop.last


class AsFor:
    """Writes a ``while`` loop as a ``for`` loop.

    Args:
        make: makes an instruction.
        rounds: what makes something to go through, without an end, of what the condition reads.
    """

    def __init__(self, make: Callable[..., Any], rounds: Any) -> None:
        self.make, self.rounds = make, rounds

    def groups(self, code: Sequence[Any], loop: WhileLoop) -> list[list[Any]]:
        """For each instruction those that take its place."""
        make, end = self.make, code[loop.end]
        found = [[each] for each in code]
        head = make("FOR_ITER", target=end)
        ends = [make(name) for name in _ENDS]
        if ends:  # which a loop that is over jumps to
            head.target = ends[0]
        for at in range(loop.start, loop.end):
            if code[at].exn_tab_entry is not code[loop.start].exn_tab_entry:  # of a comprehension
                code[at].exn_tab_entry.depth += 1  # what the loop goes through lies on the stack, too
        loads = [make("LOAD_FAST", argval=name) for name in loop.names]
        made = [*loads, tuple_of(len(loads)), *applied(self.rounds), make("GET_ITER"), head, make("POP_TOP")]
        for at in range(loop.start, loop.again):
            found[at] = self._left(code, loop, at)
            if loop.body <= at and code[at].target is code[loop.start]:  # `continue`
                code[at].target = code[loop.again]
        for at, first in self._returns(code, loop):
            found[first] = (
                [make("POP_TOP"), *found[first]] if first != at else [*_swapped(make), make("POP_TOP"), code[at]]
            )
        found[loop.start] = [*made, *found[loop.start]]
        for at in range(loop.again, loop.last + 1):
            found[at] = [make("NOP")]
        found[loop.again] = [make(_BACK, target=head)]
        found[loop.last] = ends or [make("NOP")]
        return found

    def _left(self, code: Sequence[Any], loop: WhileLoop, at: int) -> list[Any]:
        """What takes the place of an instruction, which may leave the loop."""
        each, make = code[at], self.make
        if each.target is not code[loop.end]:
            return [each]
        leave = [make("POP_TOP"), make("JUMP_FORWARD", target=code[loop.end])]
        if "IF" not in each.opname:
            return leave
        name = each.opname.replace("BACKWARD", "FORWARD")
        name = name.replace("FALSE", "TRUE") if name.endswith("FALSE") else name.replace("TRUE", "FALSE")
        return [make(name, target=code[at + 1]), *leave]

    def _returns(self, code: Sequence[Any], loop: WhileLoop) -> Iterator[tuple[int, int]]:
        """Where the loop returns, and before which instruction it lets go of what it goes through."""
        tail = [(each.opname, each.argval) for each in code[loop.end :]]
        for at in range(loop.body, loop.again):
            if code[at].opname != _RETURNS:
                continue
            first = _expression(code, at)
            part = [(each.opname, each.argval) for each in code[first : at + 1]] if first is not None else []
            early = part and (part == tail[: len(part)] or (len(part) == 2 and part[0][0] == "LOAD_CONST"))
            yield at, (first if early and first is not None else at)


def _swapped(make: Callable[..., Any]) -> list[Any]:
    return [make("SWAP", arg=2) if sys.version_info >= (3, 11) else make("ROT_TWO")]


_ENDS = ("END_FOR", "POP_TOP")[: max(sys.version_info[1] - 11, 0)]
_BACK = "JUMP_BACKWARD" if sys.version_info >= (3, 11) else "JUMP_ABSOLUTE"


def as_for_loops(code: CodeType, rounds: Any) -> CodeType:
    """The code with `for` loops in place of `while` loops; the same object without any.

    Args:
        code: of a function.
        rounds: what makes something to go through, without an end, of what a loop reads.
    """
    writing = AsFor(assembler().create_instruction, rounds) if _goes_back(code) else None
    for _ in range(_MOST_LOOPS):
        arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        if writing is None or _found(plain_instructions(code), arguments) is None:
            break
        code = rewritten(code, partial(_as_for_loop, arguments, writing))
    return code


def _as_for_loop(arguments: Sequence[str], writing: AsFor, instructions: list[Any]) -> list[list[Any]]:
    loop = _found(instructions, arguments)
    return [[each] for each in instructions] if loop is None else writing.groups(instructions, loop)


def _found(instructions: list[Any], arguments: Sequence[str]) -> WhileLoop | None:
    end_by_conditions(instructions)
    return while_loop(outlined(instructions), arguments)


_MOST_LOOPS = 20
"""The `while` loops in a function that are written as others."""


def _goes_back(code: CodeType) -> bool:
    """Whether some instruction jumps back by a condition, or behind one."""
    found = list(dis.get_instructions(code))
    backward = [each for each in found if each.opcode in _JUMPING and each.argval < each.offset]
    return any("IF" in each.opname or each.opname == _BACK for each in backward)


_JUMPING = {*dis.hasjrel, *dis.hasjabs}
