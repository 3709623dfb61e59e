"""Which way values take through the local variables of some instructions: what is stored before it is read."""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from types import CodeType
from typing import Any

_ENDS = ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE")
_ALWAYS = ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_ABSOLUTE", "JUMP_BACKWARD_NO_INTERRUPT")
"""The jumps without a condition."""
LOADS = ("LOAD_FAST", "LOAD_FAST_CHECK")
"""What reads a local variable: from Python 3.12 on the second one, where it may have none."""
CELL_LOADS = ("LOAD_DEREF", "LOAD_CLOSURE")
"""What reads a variable that functions inside know, too, or hands it to one."""
STORES = ("STORE_FAST", "STORE_DEREF")


class LocalFlow:
    """The ways through some instructions, but for those of exceptions."""

    def __init__(self, instructions: Sequence[Any]) -> None:
        self.instructions = instructions
        self.places = {id(each): index for index, each in enumerate(instructions)}

    def following(self, at: int) -> list[int]:
        """Where an instruction can lead."""
        each = self.instructions[at]
        goes = [] if each.target is None else [self.places[id(each.target)]]
        falls = each.opname not in _ALWAYS and each.opname not in _ENDS and at + 1 < len(self.instructions)
        return [*goes, at + 1] if falls else goes

    def unstored(self, body: range, names: set[str]) -> set[str]:
        """The names that some way through a body reads before it stores them."""
        known: dict[int, set[str]] = {body.start: set()}
        found: set[str] = set()
        for at in body:
            if at not in known:
                continue  # nothing comes here
            now, each = known[at], self.instructions[at]
            if each.opname in STORES:
                now = now | {each.argval}
            elif each.opname in (*LOADS, *CELL_LOADS) and each.argval in names - now:
                found.add(each.argval)
            for goes in self.following(at):
                known[goes] = known.get(goes, now) & now
        return found

    def most(self, body: range, counts: Callable[[Any], bool]) -> int:
        """How many of some instructions a way through a body, which has jumps forward only, meets at most."""
        known = {body.start: 0}
        for at in body:
            if at in known:
                now = known[at] + counts(self.instructions[at])
                known |= {goes: max(now, known.get(goes, 0)) for goes in self.following(at)}
        return max(known.values())

    def reads_later(self, start: int, name: str) -> bool:
        """Whether a name is read from an instruction on before it is stored."""
        return self._reaches([start], name, lambda at: _is(self.instructions[at], ("LOAD_FAST", *CELL_LOADS), name))

    def stores_later(self, start: int, name: str) -> bool:
        """Whether a name is stored from an instruction on."""
        return self._reaches([start], name, lambda at: _is(self.instructions[at], STORES, name))

    def meets_later(self, at: int, name: str, places: Sequence[int]) -> bool:
        """Whether some way from an instruction on meets one of others before the name is stored."""
        return self._reaches(self.following(at), name, lambda place: place in places)

    def may_lack(self, name: str, place: int) -> bool:
        """Whether some way leads to an instruction without a store of a name."""
        return self._reaches([0], name, lambda at: at == place)

    def _reaches(self, starts: Iterable[int], name: str, found: Any) -> bool:
        """Whether a way without a store of a name reaches what is looked for."""
        waiting, seen = list(starts), set[int]()
        while waiting:
            at = waiting.pop()
            if at in seen or at >= len(self.instructions):
                continue
            seen.add(at)
            if found(at):
                return True
            if not _is(self.instructions[at], STORES, name):
                waiting += self.following(at)
        return False


def stored_cells(code: Sequence[Any], body: range) -> set[str]:
    """The names of variables that functions inside know, too, and that some instructions store."""
    return {code[at].argval for at in body if code[at].opname == "STORE_DEREF"}


def stored_inside(code: CodeType, names: set[str]) -> bool:
    """Whether a function inside of some code stores one of its variables."""
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    return any(
        stored_inside(each, names)
        or any(at.opname == "STORE_DEREF" and at.argval in names for at in dis.get_instructions(each))
        for each in inner
    )


def _is(each: Any, operations: tuple[str, ...], name: str) -> bool:
    return bool(each.opname.startswith(operations) and each.argval == name)


def is_rare(each: Any) -> bool:
    """Whether an instruction uses local variables in a way whose flow is not followed: two at once, or to clear one."""
    return each.opname.startswith(("STORE_FAST_", "LOAD_FAST_")) and each.opname not in LOADS


def onwards(instructions: Sequence[Any], first: Any) -> Any:
    """The instruction that follows past jumps, and past what drops the middle of ``a < b < c`` where a < b is false."""
    for _ in range(_MOST_JUMPS):
        if first.opname != "POP_TOP" and first.opname not in _ALWAYS:
            return first
        first = next(b for a, b in pairwise(instructions) if a is first) if first.target is None else first.target
    return first


_MOST_JUMPS = 4


def raised_by(instructions: Sequence[Any], first: Any) -> str:
    """The name of the error that some instructions raise, if they do nothing else; empty where they do not.

    Where a handler stands around them nobody knows what comes of the error.
    """
    error, told, start = "", False, next(at for at, each in enumerate(instructions) if each is first)
    if any(each.opname.startswith("SETUP_") for each in instructions[:start]):  # Python 3.10 has no table of handlers
        return ""
    for each in instructions[start : start + _MOST_OF_RAISE]:
        if each.exn_tab_entry is not None or each.target is not None:
            return ""
        if each.opname == "LOAD_GLOBAL" and not error:
            error = str(each.argval)
        if each.opname == "POP_TOP":  # the end of a message to people, which comes before
            error, told = "", told or bool(error)
        if each.opname == "RAISE_VARARGS":
            return error or ("an error" if told else "")
        if each.opname.startswith(("STORE_", "DELETE_", "RETURN_")):
            return ""
    return ""


_MOST_OF_RAISE = 80
"""The instructions that a line which raises an error has at most, its message among them."""


def goes_on(code: Sequence[Any], head: int) -> bool:
    """Whether a loop is a `while` loop, which leaves alone what it goes through: it drops that at once."""
    first = code[head + 1]
    return bool(
        first.opname == "POP_TOP"
        or (
            code[head + 2].target is not None
            and first.opname == "LOAD_FAST"
            and code[head + 2].target.opname == "POP_TOP"
        )
    )
