"""Finds plain loops that hand values from one round to the next, and names the variables that do.

Its body stays within itself, and changes nothing but local variables, and lists of them that were made empty just
before the loop, to which it only appends. Any other loop is run as Python runs it, and fixes its length.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import CodeType
from typing import Any

from .appending import changes_others, leaves_itself
from .flow import LocalFlow
from .new_lists import is_new_list


class Carrying:
    """The loops that carry values, in some instructions.

    Args:
        instructions: of a function.
        code: what they were made from.
        others: the indices of the instructions that make iterators for loops of another kind.

    Attributes:
        begins: the indices of the instructions that make their iterators.
        heads: the indices of the instructions that ask for the next item -> the names of what is carried.
    """

    def __init__(self, instructions: Sequence[Any], code: CodeType, others: set[int]) -> None:
        self.instructions, self.flow = instructions, LocalFlow(instructions)
        self.given = set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
        self.begins: set[int] = set()
        self.heads: dict[int, list[str]] = {}
        for head, each in enumerate(instructions):
            plain = each.opname == "FOR_ITER" and head and instructions[head - 1].opname == "GET_ITER"
            if plain and head - 1 not in others:
                self._add(head)

    def _add(self, head: int) -> None:
        code, flow = self.instructions, self.flow
        end = flow.places[id(code[head].target)]
        body = range(head + 1, end)
        if leaves_itself(code, body, head, flow.places) or sum(each.target is code[end] for each in code) != 1:
            return
        if any(code[at].opname.startswith(("STORE_FAST_", "LOAD_FAST_")) for at in body):
            return
        stored = {code[at].argval for at in body if code[at].opname == "STORE_FAST"}
        lists = {code[at - 1].argval for at in body if code[at].argval == "append" and "LOAD" in code[at].opname}
        if changes_others(code, body, lists) or lists & stored:
            return
        if not all(is_new_list(code, flow.places, name, head) for name in lists):
            return
        carried = {name for name in stored if flow.reads_later(end, name)} | flow.unstored(body, stored)
        if any(name not in self.given and flow.may_lack(name, head) for name in carried):
            return
        if carried or lists:
            self.begins.add(head - 1)
            self.heads[head] = sorted(carried | lists)
