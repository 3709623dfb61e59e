"""Where code goes on: whether two places in it do the same from there on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class CodePaths:
    """The instructions of a function.

    Attributes:
        places: the id of each instruction -> its index.
    """

    def __init__(self, instructions: Sequence[Any]) -> None:
        self.instructions = instructions
        self.places = {id(each): index for index, each in enumerate(instructions)}

    def onwards(self, index: int) -> int:
        """The instruction that follows where only jumps forward stand between."""
        while self.instructions[index].opname in ("JUMP_FORWARD", "NOP"):
            jumps = self.instructions[index].opname == "JUMP_FORWARD"
            index = self.places[id(self.instructions[index].target)] if jumps else index + 1
        return index

    def meet(self, one: int, other: int) -> bool:
        """Whether code that goes on at two places does the same, because it meets or ends alike."""
        one, other = self.onwards(one), self.onwards(other)
        while one != other:
            a, b = self.instructions[one], self.instructions[other]
            # Those of a variable have no number where Python 3.13 had one instruction for two.
            same = a.argval == b.argval if "_FAST" in a.opname else a.arg == b.arg
            if a.opname != b.opname or not same or a.target is not None:
                return False
            if a.opname == "RETURN_VALUE":  # Python repeats what ends a function
                return True
            one, other = self.onwards(one + 1), self.onwards(other + 1)
        return True
