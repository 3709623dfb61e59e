"""Finds plain loops that hand values from one round to the next, and names the variables that do.

Its body stays within itself, and changes nothing but local variables, and lists of them that were made empty just
before the loop, and are known by one name only. Any other loop is run as Python runs it, and fixes its length.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from types import CodeType
from typing import Any

from ...lists.carried import Carried
from .appending import changes_others, leaves_itself
from .flow import LocalFlow
from .growing import Uses, may_change_later
from .new_lists import is_new_list


class Carrying:
    """The loops that carry values, in some instructions.

    Args:
        instructions: of a function.
        code: what they were made from.
        others: the indices of the instructions that make iterators for loops of another kind.

    Attributes:
        begins: the indices of the instructions that make their iterators.
        heads: the indices of the instructions that ask for the next item -> what is carried.
    """

    def __init__(self, instructions: Sequence[Any], code: CodeType, others: set[int]) -> None:
        self.instructions, self.flow = instructions, LocalFlow(instructions)
        self.given = set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
        self.begins: set[int] = set()
        self.heads: dict[int, Carried] = {}
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
        growing = self._growing(body, head)
        lists = {code[at - 1].argval for at in body if code[at].argval == "append" and "LOAD" in code[at].opname}
        lists -= growing.keys()
        if changes_others(code, body, lists, growing.keys()) or lists & stored:
            return
        if not all(is_new_list(code, flow.places, name, head) for name in lists):
            return
        carried = {name for name in stored if flow.reads_later(end, name)} | flow.unstored(body, stored)
        if any(name not in self.given and flow.may_lack(name, head) for name in carried):
            return
        names = tuple(sorted(carried | lists | growing.keys()))
        if names:
            self.begins.add(head - 1)
            read = {name for name, uses in growing.items() if uses.reads}
            later = {name for name in lists | growing.keys() if may_change_later(code, flow.places, name, end)}
            self.heads[head] = Carried(names, *(_places(names, some) for some in (growing.keys(), read, later)))

    def _growing(self, body: range, head: int) -> dict[str, Uses]:
        """The lists that a body changes and reads, or that have items before it."""
        code, found = self.instructions, dict[str, Uses]()
        for name in {code[at].argval for at in body if code[at].opname == "LOAD_FAST"}:
            uses = Uses(code, name, body)
            changes = uses.changes or any(code[at].opname == "STORE_FAST" and code[at].argval == name for at in body)
            if not changes or not uses.known or not is_new_list(code, self.flow.places, name, head, filled=True):
                continue
            if not self._only_appends(name, body) or not is_new_list(code, self.flow.places, name, head):
                found[name] = uses
        return found

    def _only_appends(self, name: str, body: range) -> bool:
        code = self.instructions
        uses = [at for at in body if code[at].argval == name]
        return all(code[at].opname == "LOAD_FAST" and code[at + 1].argval == "append" for at in uses)


def _places(names: Sequence[str], some: Set[str]) -> frozenset[int]:
    return frozenset(place for place, name in enumerate(names) if name in some)
