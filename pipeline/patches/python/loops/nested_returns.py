"""Returns in a loop inside of another one, as a ``break`` of the inner one and a return behind it.

``for a in xs: for b in ys: if …: return a`` becomes ``… if …: found = a; break`` and ``if found: return`` after the
inner loop. What is known of loops that are left early is known of both loops, then.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .leaving import EMPTY_LIST, IF_FALSE, NO_VALUE, returned


@dataclass(frozen=True)
class NestedReturns:
    """The returns of an inner loop.

    Attributes:
        head: the index of the instruction that asks for the next item of the outer loop.
        after: that of the first one after the inner loop.
        exits: where the returns begin -> how many instructions they are.
        default: what the function returns after both loops.
    """

    head: int
    after: int
    exits: dict[int, int]
    default: Any


def nested_returns(code: Sequence[Any]) -> NestedReturns | None:
    """The first ones in some instructions, if there are any."""
    places = {id(each): at for at, each in enumerate(code)}
    loops = [(at, places[id(each.target)]) for at, each in enumerate(code) if each.opname == "FOR_ITER"]
    for head, end in loops:
        around = [loop for loop in loops if loop[0] < head < loop[1]]
        inner = [loop for loop in loops if head < loop[0] < end]
        default = returned(code, _behind(code, end))
        if around or default in (None, NO_VALUE) or code[head - 1].opname != "GET_ITER":
            continue
        for at, until in inner:
            exits = dict(_exits(code, at, until))
            if exits and not any(one < at < other for one, other in inner) and code[at - 1].opname == "GET_ITER":
                return NestedReturns(head, _behind(code, until), exits, default)
    return None


def _behind(code: Sequence[Any], end: int) -> int:
    """The instruction after a loop: past the end of it that Python 3.12 has, and 3.13 with another one."""
    return end if code[end].opname != "END_FOR" else end + 1 + (code[end + 1].opname == "POP_TOP")


def _exits(code: Sequence[Any], head: int, end: int) -> Iterator[tuple[int, int]]:
    for at in range(head + 1, end):
        names = [each.opname for each in code[at : at + 5]]
        swaps = names[::2][:2] in (["SWAP", "SWAP"], ["ROT_TWO", "ROT_TWO"])
        if swaps and names[1::2] == ["POP_TOP", "POP_TOP"] and names[4] == "RETURN_VALUE":
            yield at, 5
        elif names[:2] == ["POP_TOP", "POP_TOP"] and returned(code, at + 2) not in (None, NO_VALUE):
            yield at, 3 if names[2] == "RETURN_CONST" else 4


class AsBreaks:
    """Writes such returns as breaks.

    Args:
        make: makes an instruction.
        names: of a flag and of a value: no program can write them.
    """

    def __init__(self, make: Callable[..., Any], names: tuple[str, str]) -> None:
        self.make, (self.flag, self.value) = make, names

    def groups(self, code: Sequence[Any], found: NestedReturns) -> list[list[Any]]:
        """For each instruction those that take its place."""
        make, written = self.make, [[each] for each in code]
        begins = [*self._store(False, self.flag), *self._store(found.default, self.value)]
        written[found.head - 1] = [*begins, *written[found.head - 1]]
        for start, count in found.exits.items():
            constant = returned(code, start + 2) if count < _ON_STACK else NO_VALUE
            kept = [make("STORE_FAST", argval=self.value)]
            kept = kept if constant is NO_VALUE else self._store(constant, self.value)
            leaves = [make("POP_TOP"), make("JUMP_FORWARD", target=code[found.after])]
            written[start] = [*kept, *self._store(True, self.flag), *leaves]
            for at in range(start + 1, start + count):
                written[at] = [make("NOP")]
        on, swaps = make("NOP"), make("SWAP", arg=2) if sys.version_info >= (3, 11) else make("ROT_TWO")
        test = [make("LOAD_FAST", argval=self.flag), make(IF_FALSE, target=on)]
        returns = [make("LOAD_FAST", argval=self.value), swaps, make("POP_TOP"), make("RETURN_VALUE"), on]
        written[found.after] = [*test, *returns, *written[found.after]]
        return written

    def _store(self, constant: Any, name: str) -> list[Any]:
        makes = self.make("BUILD_LIST", arg=0) if constant is EMPTY_LIST else self.make("LOAD_CONST", argval=constant)
        return [makes, self.make("STORE_FAST", argval=name)]


_ON_STACK = 5
"""The instructions of a return of what is on the stack, from a loop inside of another one."""
