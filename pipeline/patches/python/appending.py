"""Finds plain loops that only append to a new list, which do what a comprehension does.

``out = []``, then ``for item in items:`` whose last statement is ``out.append(...)``. The body has no jumps, hands no
value from one round to the next, and changes nothing else that bytecode shows; the list is known by one name only. Any
other loop is run as Python runs it, and fixes its length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_CHANGES = frozenset(
    "append extend insert sort reverse pop remove clear add update setdefault discard popitem write next send".split()
)
_STORES = ("STORE_SUBSCR", "STORE_ATTR", "STORE_GLOBAL", "STORE_DEREF", "STORE_NAME", "YIELD_VALUE", "IMPORT_NAME")
_METHODS = ("LOAD_METHOD", "LOAD_ATTR")


class Appending:
    """The loops that append, in some instructions.

    Attributes:
        begins: the indices of the instructions that make their iterators -> the number of the loop.
        ends: the indices of the instructions at which a loop is over -> the instruction that loads its list.
    """

    def __init__(self, instructions: Sequence[Any]) -> None:
        self.instructions = instructions
        self.places = {id(each): index for index, each in enumerate(instructions)}
        self.begins: dict[int, int] = {}
        self.ends: dict[int, Any] = {}
        for head, each in enumerate(instructions):
            if each.opname == "FOR_ITER" and head and instructions[head - 1].opname == "GET_ITER":
                self._add(head)

    def _add(self, head: int) -> None:
        code = self.instructions
        end = self.places[id(code[head].target)]
        body = code[head + 1 : end - 1]
        listed = self._appended_to(body)
        if listed is None or code[end - 1].target is not code[head] or not self._is_plain(body, listed.argval):
            return
        if not self._is_new(listed.argval, head) or not self._is_left(body, listed.argval, head, end):
            return
        after = end
        if code[end].opname == "END_FOR":  # of Python 3.12; in 3.13 a second one follows
            after += 1 + (code[end + 1].opname == "POP_TOP")
        self.begins[head - 1], self.ends[after] = head, listed

    def _appended_to(self, body: Sequence[Any]) -> Any:
        """The instruction that loads the list to which the last statement of a loop appends."""
        places = [at for at, each in enumerate(body) if each.opname in _METHODS and each.argval == "append"]
        calls = [each.opname for each in body[-3:]]
        if len(places) != 1 or len(calls) < 3 or calls[-1] != "POP_TOP" or "CALL" not in calls[-2]:
            return None
        listed = body[places[0] - 1]
        starts = places[0] > 1 and body[places[0] - 2].opname.startswith(("STORE_FAST", "UNPACK_SEQUENCE", "POP_TOP"))
        return listed if listed.opname == "LOAD_FAST" and starts else None

    def _is_plain(self, body: Sequence[Any], listed: str) -> bool:
        """Whether a body has no jumps, and stores only what it reads in the same round."""
        stored = {each.argval for each in body if each.opname == "STORE_FAST"}
        known: set[str] = set()
        uses = 0
        for each in body:
            if each.target is not None or each.opname in _STORES or each.opname.startswith("DELETE"):
                return False
            if each.opname.startswith(("STORE_FAST_", "LOAD_FAST_")):
                return False  # pairs of Python 3.13, and others that are rare
            if each.opname == "STORE_FAST":
                known.add(each.argval)
            elif each.opname == "LOAD_FAST":
                uses += each.argval == listed
                if each.argval in stored - known:
                    return False
            elif each.argval in _CHANGES and (each.opname, each.argval) not in [(name, "append") for name in _METHODS]:
                return False
        return uses == 1 and listed not in stored

    def _is_new(self, listed: str, head: int) -> bool:
        """Whether the list is made before a loop, with nothing between that could know of it or run twice."""
        code = self.instructions
        stores = [at for at in range(head) if code[at].opname == "STORE_FAST" and code[at].argval == listed]
        if not stores or not stores[-1] or code[stores[-1] - 1].opname != "BUILD_LIST" or code[stores[-1] - 1].arg:
            return False
        between = range(stores[-1] + 1, head)
        if any(code[at].target is not None or listed in _names(code[at]) for at in between):
            return False
        return not any(self.places.get(id(each.target)) in between for each in code if each.target is not None)

    def _is_left(self, body: Sequence[Any], listed: str, head: int, end: int) -> bool:
        """Whether nothing after a loop reads what its rounds stored, or changes the list."""
        code = self.instructions
        if sum(each.target is code[end] for each in code) != 1 or any(each.opname == "STORE_SUBSCR" for each in code):
            return False
        stored = {each.argval for each in body if each.opname == "STORE_FAST"}
        for at in range(end, len(code)):
            each = code[at]
            changes = each.opname in _METHODS and each.argval in _CHANGES and code[at - 1].argval == listed
            if each.opname == "STORE_FAST":
                stored.discard(each.argval)
            elif changes or stored.intersection(_names(each)):
                return False
        outer = [each for each in code[end:] if each.target is not None]
        return not any(self.places[id(each.target)] <= head for each in outer)


def _names(each: Any) -> tuple[Any, ...]:
    """What an instruction names: one thing, or two in Python 3.13."""
    return each.argval if isinstance(each.argval, tuple) else (each.argval,)
