"""Finds plain loops that only append to a new list, or only fill a new dict, which do what a comprehension does.

``out = []``, then ``for item in items:`` whose body appends to it, at most once on each way through the body; or
``out = {}`` and ``out[key] = value``. The body hands no value from one round to the next, and changes nothing else
that bytecode shows; the list or dict is known by one name only. Any other loop is run as Python runs it, and fixes its
length.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence, Set
from types import CodeType
from typing import Any

from ..rounds.takers import taker_of
from .flow import LOADS, STORES, LocalFlow, is_rare, stored_cells, stored_inside
from .new_lists import is_new_list

CHANGES = frozenset(
    "append extend insert sort reverse pop remove clear add update setdefault discard popitem write next send".split()
)
"""Methods that change what they are called on."""
_REFUSED = (
    "STORE_SUBSCR", "STORE_ATTR", "STORE_GLOBAL", "STORE_NAME", "YIELD_VALUE", "IMPORT_NAME",
    "FOR_ITER", "RETURN_VALUE", "RETURN_CONST",
)  # fmt: skip
_METHODS = ("LOAD_METHOD", "LOAD_ATTR")
_OF_CONTAINER = 2
"""How deep a container lies on the stack, below its key, when an entry is stored in it."""


class Appending:
    """The loops that append, in some instructions.

    Attributes:
        begins: the indices of the instructions that make their iterators -> the number of the loop, and the
            instruction that loads its list.
        ends: the indices of the instructions at which a loop is over -> the instruction that loads its list.
        stores: the indices of the instructions that put an entry into the dict of a loop.
    """

    def __init__(self, instructions: Sequence[Any], code: CodeType) -> None:
        self.instructions, self.code = instructions, code
        self.places = {id(each): index for index, each in enumerate(instructions)}
        self.begins: dict[int, tuple[int, Any]] = {}
        self.ends: dict[int, Any] = {}
        self.stores: set[int] = set()
        for head, each in enumerate(instructions):
            if each.opname == "FOR_ITER" and head and instructions[head - 1].opname == "GET_ITER":
                self._add(head)

    def _add(self, head: int) -> None:
        code = self.instructions
        end = self.places[id(code[head].target)]
        body = range(head + 1, end)
        stores = self._stores(body)
        listed = self._filled_by(body, stores) if stores else self._appended_to(body)
        if listed is None or not self._is_plain(body, head, listed.argval, stores):
            return
        if not is_new_list(code, self.places, listed.argval, head, kinds=("dict",) if stores else ("list",)):
            return
        if not self._is_left(body, listed.argval, head, end, stores):
            return
        self.stores |= stores
        after = end
        if code[end].opname == "END_FOR":  # of Python 3.12; in 3.13 a second one follows
            after += 1 + (code[end + 1].opname == "POP_TOP")
        self.begins[head - 1], self.ends[after] = (head, listed), listed

    def _appended_to(self, body: range) -> Any:
        """The instruction that loads the list to which a loop appends, if there is one such list."""
        code = self.instructions
        found = [code[at - 1] for at in body if _is_method(code[at], "append")]
        names = {each.argval for each in found if each.opname in LOADS}
        uses = sum(code[at].opname in LOADS and code[at].argval in names for at in body)
        return found[0] if len(names) == 1 and uses == len(found) else None

    def _stores(self, places: range) -> set[int]:
        return {at for at in places if self.instructions[at].opname == "STORE_SUBSCR"}

    def _filled(self, places: range) -> list[Any]:
        """The instructions that load local variables in which entries are stored."""
        code = self.instructions
        takers = [(code[at], *taker_of(code, at)) for at in places if code[at].opname in LOADS]
        return [load for load, taker, depth in takers if depth == _OF_CONTAINER and taker.opname == "STORE_SUBSCR"]

    def _filled_by(self, body: range, stores: set[int]) -> Any:
        """The instruction that loads the dict which a loop fills, if it is one that all of its stores fill."""
        found = self._filled(body)
        return found[0] if len({each.argval for each in found}) == 1 and len(found) == len(stores) else None

    def _is_plain(self, body: range, head: int, listed: str, stores: set[int]) -> bool:
        """Whether a body stays within itself, and stores only what each round reads after it stored that."""
        code = self.instructions
        if leaves_itself(code, body, head, self.places, stores) or stored_inside(self.code, stored_cells(code, body)):
            return False
        uses = sum(code[at].opname in LOADS and code[at].argval == listed for at in body)
        if changes_others(code, body, set() if stores else {listed}) or (stores and uses != len(stores)):
            return False
        if any(is_rare(code[at]) for at in body):  # torch takes the pairs of Python 3.13 apart
            return False
        stored = {code[at].argval for at in body if code[at].opname in STORES}
        flow = LocalFlow(code)
        appends = flow.most(body, lambda each: each.opname == "STORE_SUBSCR" or _is_method(each, "append"))
        return listed not in stored and appends < 2 and not flow.unstored(body, stored)

    def _is_left(self, body: range, listed: str, head: int, end: int, stores: set[int]) -> bool:
        """Whether nothing after a loop reads what its rounds stored, or changes the list."""
        code = self.instructions
        after = range(end, len(code))
        others = [each.argval for each in self._filled(after)]
        known = len(others) == len(self._stores(after)) and listed not in others
        if sum(each.target is code[end] for each in code) != 1 or not known:
            return False
        stored = {code[at].argval for at in body if code[at].opname in STORES}
        for at in range(end, len(code)):
            each = code[at]
            changes = each.opname in _METHODS and each.argval in CHANGES and code[at - 1].argval == listed
            if each.opname in STORES:
                stored.discard(each.argval)
            elif changes or stored.intersection(_names(each)):
                return False
        outer = [each for each in code[end:] if each.target is not None]
        return not any(self.places[id(each.target)] <= head for each in outer)


def leaves_itself(
    code: Sequence[Any], body: range, head: int, places: dict[int, int], inner: Set[int] = frozenset()
) -> bool:
    """Whether the body of a loop does what one way through it cannot show: loops, handlers, a way out of the loop.

    Loops whose heads are given as inner ones are nodes, as others are.
    """
    rest = [at for at in body if at not in inner]
    if any(code[at].opname in _REFUSED or code[at].opname.startswith("DELETE") for at in rest):
        return True
    if any(_handler(code[at]) is not _handler(code[head]) for at in body):
        return True  # a handler of exceptions, or `with`
    goes = {at: places[id(code[at].target)] for at in rest if code[at].target is not None}
    ends = {at: to == head or to in inner or (to > at and to in body) for at, to in goes.items()}
    return not all("JUMP" in code[at].opname and stays for at, stays in ends.items())


def changes_others(code: Sequence[Any], body: Sequence[int], lists: set[str], free: Set[str] = frozenset()) -> bool:
    """Whether a body calls a method that may change what it is called on, but for appending to some lists.

    These lists may be used for nothing else in it; those that are free in any way.
    """
    body = [at for at in body if not (at and code[at - 1].opname in LOADS and code[at - 1].argval in free)]
    appends = [at for at in body if _is_method(code[at], "append") and code[at - 1].argval in lists]
    uses = sum(code[at].opname in LOADS and code[at].argval in lists for at in body)
    changes = sum(code[at].argval in CHANGES and code[at].opname in _METHODS and not _sorts(code, at) for at in body)
    return changes != len(appends) or uses != len(appends)


def _sorts(code: Sequence[Any], at: int) -> bool:
    """Whether a method is `sort` of a tensor, which stays as it is: something is asked of its result."""
    call = taker_of(code, at)[0] if code[at].argval == "sort" else None
    if call is None:
        return False
    names = [each.opname for each in code[next(place for place in range(at, len(code)) if code[place] is call) :]]
    return names[1] in ("LOAD_ATTR", "UNPACK_SEQUENCE") or names[2] == "BINARY_SUBSCR"


def _is_method(each: Any, name: str) -> bool:
    """Whether an instruction loads a method in order to call it."""
    calls = each.opname == "LOAD_METHOD" or (
        sys.version_info >= (3, 12) and each.opname == "LOAD_ATTR" and each.arg & 1
    )
    return bool(calls and each.argval == name)


def _handler(each: Any) -> Any:
    """The instruction to which an exception in an instruction leads."""
    return None if each.exn_tab_entry is None else each.exn_tab_entry.target


def _names(each: Any) -> tuple[Any, ...]:
    """What an instruction names: one thing, or two in Python 3.13."""
    return each.argval if isinstance(each.argval, tuple) else (each.argval,)
