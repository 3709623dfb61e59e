"""Loops that are left early, by `break` or by a return, as loops that go on and do nothing more.

A graph runs a loop for all items. So where the code leaves a loop it sets a flag, and a round after that does nothing;
a value that is returned waits in a variable until the loop is over. An iterator of Python's is told to end, so that
such a loop ends as it did.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

NO_VALUE = object()
EMPTY_LIST: list[Any] = []
"""Stands for the list that ``return []`` makes."""
_RETURNS = ("RETURN_VALUE", "RETURN_CONST")
_JUMPS = ("JUMP_FORWARD", "JUMP_ABSOLUTE", "JUMP_BACKWARD")


@dataclass
class _Exit:
    """A place where a loop is left.

    Attributes:
        start: the index of the first instruction that goes; count: how many go.
        value: the constant that is returned; None where it is on the stack, `NO_VALUE` for a `break`.
    """

    start: int
    count: int
    value: Any = NO_VALUE
    on_stack: bool = False

    @property
    def returns(self) -> bool:
        return self.on_stack or self.value is not NO_VALUE


@dataclass
class Left:
    """A loop that is left early.

    Attributes:
        head: the index of the instruction that asks for the next item.
        after: that of the first one after the loop.
        exits: where it is left.
        default: the constant that is returned after the loop, where rounds return something.
        falls: whether the code goes on behind the loop where no round returned anything.
    """

    head: int
    after: int
    exits: list[_Exit]
    default: Any = NO_VALUE
    falls: bool = False


def loops_left_early(code: Sequence[Any]) -> Iterator[Left]:
    """The loops in some instructions that are left early in a way that can be told otherwise."""
    places = {id(each): at for at, each in enumerate(code)}
    for head in range(1, len(code)):
        if (code[head - 1].opname, code[head].opname) == ("GET_ITER", "FOR_ITER"):
            found = _left(code, places, head)
            if found is not None:
                yield found


def _left(code: Sequence[Any], places: dict[int, int], head: int) -> Left | None:
    end = places[id(code[head].target)]
    after = end
    if code[end].opname == "END_FOR":  # of Python 3.12; in 3.13 a second one follows
        after += 1 + (code[end + 1].opname == "POP_TOP")
    exits, at = [], head + 1
    while at < end:
        found = _exit(code, places, at, after)
        if found is not None and at + found.count > end:  # what follows belongs to the code after the loop
            found = _Exit(at, 1) if at + 1 == end == after else None
            if found is None:
                return None
        if found is None and (code[at].opname in _RETURNS or _leads_out(code, places, at, head, end)):
            return None
        if found is not None:
            exits.append(found)
            at += found.count
        else:
            at += 1
    handled = any(each.exn_tab_entry is not code[head].exn_tab_entry for each in code[head:end])
    if not exits or handled or any(each.opname.startswith("SETUP_") for each in code[head:end]):
        return None
    if not any(each.returns for each in exits):
        return Left(head, after, exits)
    default = returned(code, after)
    if default in (None, NO_VALUE) and all(each.returns and not each.on_stack for each in exits):
        inside = any(places[id(each.target)] > head for each in code[:head] if each.opname == "FOR_ITER")
        alike = len({type(each.value) for each in exits}) == 1
        return Left(head, after, exits, exits[0].value, falls=True) if alike and not inside else None
    values = {type(each.value) for each in exits if not each.on_stack and each.value is not NO_VALUE}
    if default in (None, NO_VALUE) or values - {type(default)}:
        return None
    if any(each.target is code[after] for at, each in enumerate(code) if not head <= at < end):
        return None
    return Left(head, after, exits, default)


def _leads_out(code: Sequence[Any], places: dict[int, int], at: int, head: int, end: int) -> bool:
    target = code[at].target
    return target is not None and not head <= places[id(target)] < end


def _exit(code: Sequence[Any], places: dict[int, int], at: int, after: int) -> _Exit | None:
    """The way out of a loop that begins at an instruction."""
    this, following = code[at], code[at + 1]
    if this.opname == "POP_TOP":
        if following.opname in _JUMPS:
            goes = places[id(following.target)]
            if goes == after or (code[after].opname in _JUMPS and code[after].target is following.target):
                return _Exit(at, 2)
            value = returned(code, goes)  # past the `else` of the loop
            return None if value in (None, NO_VALUE) else _Exit(at, 2, value)
        if count := _same_end(code, at + 1, after):
            return _Exit(at, 1 + count)
        value = returned(code, at + 1)
        count = 2 if following.opname == "RETURN_CONST" else 3
        return None if value in (None, NO_VALUE) else _Exit(at, count, value)
    swaps = this.opname == "ROT_TWO" or (this.opname == "SWAP" and this.arg == 2)
    if swaps and following.opname == "POP_TOP" and code[at + 2].opname == "RETURN_VALUE":
        return _Exit(at, 3, on_stack=True)
    return None


def _same_end(code: Sequence[Any], one: int, other: int) -> int:
    """How many instructions return what those after the loop return; 0 where they do something else."""
    for count, (a, b) in enumerate(zip(code[one:], code[other:], strict=False), 1):
        if (a.opname, a.argval, a.arg) != (b.opname, b.argval, b.arg) or a.target is not None:
            return 0
        if a.opname in _RETURNS:
            return count
    return 0


def returned(code: Sequence[Any], at: int) -> Any:
    """The constant that some instructions return, if they do that only."""
    if code[at].opname == "BUILD_LIST" and not code[at].arg and code[at + 1].opname == "RETURN_VALUE":
        return EMPTY_LIST
    if code[at].opname == "RETURN_CONST" or (code[at].opname == "LOAD_CONST" and code[at + 1].opname == "RETURN_VALUE"):
        return code[at].argval if type(code[at].argval) in (str, int, float, bool) else None
    return NO_VALUE


class Leavable:
    """An iterator of Python's that can be told to end."""

    def __init__(self, items: Any) -> None:
        self.items, self.iterator, self.left = items, iter(items), False

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.left:
            raise StopIteration
        return next(self.iterator)


def names_for(count: int) -> list[tuple[str, str]]:
    """The names of a flag and of a value for each loop: no program can write them."""
    return [(f"left {number}", f"found {number}") for number in range(count)]


def is_flag(name: str) -> bool:
    """Whether a variable is the flag of a loop."""
    return name.startswith("left ")


class GoingOn:
    """Writes the instructions of loops that go on.

    Args:
        make: makes an instruction.
        applied: the instructions that hand the uppermost entry of the stack to an operation.
        leavable: what makes an iterable one that can be told to end; leave: what tells it.
    """

    def __init__(
        self, make: Callable[..., Any], applied: Callable[[Any], list[Any]], leavable: Any, leave: Any
    ) -> None:
        self.make, self.applied, self.leavable, self.leave = make, applied, leavable, leave

    def groups(self, code: Sequence[Any], loops: Sequence[Left], names: Sequence[tuple[str, str]]) -> list[list[Any]]:
        """For each instruction those that take its place."""
        found = [[each] for each in code]
        for loop, (flag, value) in zip(loops, names, strict=True):
            returns = loop.default is not NO_VALUE
            before = [*self._store(False, flag), *(self._store(loop.default, value) if returns else [])]
            found[loop.head - 1] = [*before, *self.applied(self.leavable), *found[loop.head - 1]]
            first = code[loop.head + 1]
            found[loop.head] = [
                code[loop.head], self.make("LOAD_FAST", argval=flag), self.make(IF_FALSE, target=first),
                self.make("POP_TOP"), self.make(BACK, target=code[loop.head]),
            ]  # fmt: skip
            for each in loop.exits:
                for at in range(each.start + 1, each.start + each.count):
                    found[at] = [self.make("NOP")]
                found[each.start] = self._exit(each, code[loop.head], flag, value)
            if loop.falls:
                on = self.make("NOP")
                test = [self.make("LOAD_FAST", argval=flag), self.make(IF_FALSE, target=on)]
                kept = [self.make("LOAD_FAST", argval=value), self.make("RETURN_VALUE"), on]
                found[loop.after] = [*test, *kept, *found[loop.after]]
            elif returns:
                found[loop.after] = [self.make("LOAD_FAST", argval=value)]
                if code[loop.after].opname == "RETURN_CONST":
                    found[loop.after].append(self.make("RETURN_VALUE"))
        return found

    def _exit(self, place: _Exit, head: Any, flag: str, value: str) -> list[Any]:
        kept = [self.make("STORE_FAST", argval=value)] if place.on_stack else []
        if place.value is not NO_VALUE:
            kept = self._store(place.value, value)
        copy = self.make("COPY", arg=1) if sys.version_info >= (3, 11) else self.make("DUP_TOP")
        told = [copy, *self.applied(self.leave), self.make("POP_TOP")]
        return [*kept, *self._store(True, flag), *told, self.make(BACK, target=head)]

    def _store(self, constant: Any, name: str) -> list[Any]:
        makes = self.make("BUILD_LIST", arg=0) if constant is EMPTY_LIST else self.make("LOAD_CONST", argval=constant)
        return [makes, self.make("STORE_FAST", argval=name)]


IF_FALSE = "POP_JUMP_FORWARD_IF_FALSE" if sys.version_info[:2] == (3, 11) else "POP_JUMP_IF_FALSE"
BACK = "JUMP_BACKWARD" if sys.version_info >= (3, 11) else "JUMP_ABSOLUTE"
