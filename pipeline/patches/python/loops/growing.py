"""Finds the containers that a loop fills and reads: ``out.append(out[-1] + row)``, ``count[word] += 1``, ``len(out)``.

Such a list, set or dict is known by one name only: whatever takes it from the stack reads it, calls one of its
methods, or makes a new one. So it may change by becoming another value, and nobody else can tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any
from weakref import WeakKeyDictionary

from ..assembly import plain_instructions
from ..rounds.run_at_once import ASKING, asked, fills_cell, runs_at_once
from ..rounds.takers import ATTRIBUTES, BELOW_KEY, place_of, taker_of
from .flow import LocalFlow
from .outlined import SKIPPED, outlined

CHANGES = tuple(
    "append extend insert sort reverse pop remove clear add discard update setdefault popleft appendleft".split()
)
_METHODS = (*CHANGES, "index", "count", "copy", "get", "maxlen")
_OF_ENTRIES = ("append", "extend", "pop", "add", "discard", "update", "setdefault")
_READS = ("BINARY_SUBSCR",)
OF_ENTRY = ("STORE_SUBSCR", "DELETE_SUBSCR")
"""What changes an entry of a container, or takes it out."""
_TAKES = (
    "CONTAINS_OP",
    "UNARY_NOT",
    "TO_BOOL",
    "LIST_EXTEND",
    "DICT_UPDATE",
    "SET_UPDATE",
    "BINARY_ADD",
    "INPLACE_ADD",
)
_ADDS = (0, 13)  # the arguments of BINARY_OP for + and +=


class Uses:
    """What some instructions do with a list, a set or a dict of one name.

    Args:
        code: the instructions.
        name: of the local variable.
        places: where to look.
        around: the names of the containers of which it is an entry.

    Attributes:
        known: whether nothing but the name can keep the list.
        loaded: whether they ask for it at all; reads: whether items of it are read.
        changes: where it is changed, by a method or by an entry that is stored in it.
        stores: the instructions that store such entries.
        entries: where a method is loaded that changes an entry, a list, as in ``table[key].append(item)``.
        loops: those that go through it.
        handed: where another list gets it, or another variable: it is another one when it changes again.
    """

    def __init__(
        self, code: Sequence[Any], name: str, places: Iterable[int], around: frozenset[str] = frozenset()
    ) -> None:
        self.names = around | {name}
        self.loaded = False
        self.known, self.reads, self.changes, self.stores = True, False, list[int](), list[Any]()
        self.entries: list[int] = []
        self.handed: list[int] = []
        self.loops: list[range] = []
        for at in places:
            each = code[at]
            if each.opname.startswith("LOAD_") and each.argval == name:
                self.loaded = True
                self._meet(code, at)
        self.known &= not any(at in loop for at in self.changes for loop in self.loops)
        if self.handed and self.known:  # an entry of another container may be found there again
            flow, changes = LocalFlow(code), changing(code, name)
            self.known = not around and not any(flow.meets_later(at, name, changes) for at in self.handed)

    def _meet(self, code: Sequence[Any], at: int) -> None:
        taker, depth = taker_of(code, at)
        name = "" if taker is None else taker.opname
        if name in ATTRIBUTES:
            self.known &= taker.argval in _METHODS
            self.reads |= taker.argval in ("pop", "remove", "popleft")
            self.changes += [at] if taker.argval in CHANGES else []
            if taker.argval == "setdefault":
                self._meet_entry(code, at, taker_of(code, place_of(code, at, taker))[0])
        elif name in _READS:
            self.reads = True
            if depth > 1:  # else it is the index, of which `plain_index` says that nothing keeps it
                self._meet_entry(code, at, taker)
        elif (
            name.startswith("CALL") and asked(code, at) == "append" and not _changes_entries(code, code[at - 2].argval)
        ):
            self.handed.append(place_of(code, at, taker))
        elif name.startswith("CALL"):
            name = asked(code, at)
            self.known &= name in ASKING
            self.reads |= name != "len"
        elif name == "GET_ITER":
            self.reads = True
            self._meet_loop(code, place_of(code, at, taker))
        elif name == "STORE_FAST" and depth == 1 and not changing(code, taker.argval):
            self.handed.append(place_of(code, at, taker))
        elif name in OF_ENTRY and depth == BELOW_KEY:
            self.changes.append(at)
            self.stores.append(taker)
            self.reads = True
        elif name == "BINARY_OP":
            self.known &= taker.arg in _ADDS
        elif name == "STORE_DEREF" and fills_cell(code, at + 1):
            self._meet_function(code, at, taker.argval)
        elif name == "BUILD_TUPLE" and isinstance(code[place_of(code, at, taker) + 1].argval, CodeType):
            self._meet_function(code, at, code[at].argval)
        elif name == "BUILD_TUPLE":
            self.known &= getattr(code[place_of(code, at, taker) + 1].argval, "keeps_nothing", False)
        else:
            self.known &= name.startswith("POP_JUMP") or name in _TAKES

    def _meet_loop(self, code: Sequence[Any], begin: int) -> None:
        """Takes note of a loop through the list, which must be over before that changes."""
        following = code[begin + 1]
        if following.opname == "FOR_ITER":
            self.loops.append(range(begin, place_of(code, 0, following.target)))
            return
        if following.opname == SKIPPED:  # a comprehension, from Python 3.12 on
            self.loops.append(range(begin, following.argval[0]))
            return
        made = next((at for at in range(begin, 0, -1) if isinstance(code[at].argval, CodeType)), 0)
        self.known &= bool(made) and runs_at_once(code, made)

    def _meet_function(self, code: Sequence[Any], at: int, name: str) -> None:
        """Takes note of a function inside that knows the list: it must be run at once, and only read it."""
        made = next((place for place in range(at, len(code)) if isinstance(code[place].argval, CodeType)), 0)
        self.reads = True
        self.known &= bool(made) and runs_at_once(code, made) and _only_reads(code[made].argval, name)

    def _meet_entry(self, code: Sequence[Any], at: int, given: Any) -> None:
        """Takes note of an entry that an instruction gives, and that a method or a store changes, or an entry of it."""
        if given is None:
            return
        place = place_of(code, at, given)
        taker, depth = taker_of(code, place)
        name = "" if taker is None else taker.opname
        if name in ATTRIBUTES and taker.argval in _OF_ENTRIES:
            self.changes.append(at)
            self.entries.append(place_of(code, place, taker))
            if taker.argval == "setdefault":
                self._meet_entry(code, at, taker_of(code, place_of(code, place, taker))[0])
        elif name == "STORE_SUBSCR" and depth == BELOW_KEY:
            self.changes.append(at)
            self.stores.append(taker)
        elif name in _READS and depth > 1:
            self._meet_entry(code, at, taker)
        elif name == "STORE_FAST":
            self._meet_named(code, at, taker)

    def _meet_named(self, code: Sequence[Any], at: int, store: Any) -> None:
        """Takes note of an entry that a variable names, which nothing else stores, and that its methods change."""
        stores = [each for each in code if each.opname == "STORE_FAST" and each.argval == store.argval]
        if stores != [store] or store.argval in self.names:
            return
        uses = Uses(code, store.argval, range(len(code)), self.names)
        if not uses.known or not uses.changes:
            return
        self.changes.append(at)
        self.entries += [place + 1 for place in uses.changes if code[place + 1].opname in ATTRIBUTES] + uses.entries
        self.stores += uses.stores


written: WeakKeyDictionary[CodeType, CodeType] = WeakKeyDictionary()
"""The code of functions inside with its operations handed over -> as it was before."""


@lru_cache(256)
def _only_reads(function: CodeType, name: str) -> bool:
    """Whether a function only reads a list that it knows by a name."""
    code = outlined(plain_instructions(written.get(function, function)))
    uses = Uses(code, name, range(len(code)))
    return uses.known and not uses.changes and not uses.handed


def changing(code: Sequence[Any], name: str) -> list[int]:
    """Where a list of some name is loaded to be changed: by a method, an entry that is stored in it, or by +=."""
    loads = [at for at, each in enumerate(code) if each.opname.startswith("LOAD_") and each.argval == name]
    return [at for at in loads if code[at + 1].argval in CHANGES or _is_written(taker_of(code, at)[0])]


def _is_written(taker: Any) -> bool:
    if taker is None:
        return True  # nobody knows
    adds = taker.opname == "INPLACE_ADD" or (taker.opname == "BINARY_OP" and taker.arg == _ADDS[1])
    return adds or taker.opname in OF_ENTRY


def _changes_entries(code: Sequence[Any], name: str) -> bool:
    """Whether an entry of a list of some name is changed, as in ``rows[-1].append(item)``."""
    loads = [at for at, each in enumerate(code) if each.opname.startswith("LOAD_") and each.argval == name]
    reads = [place_of(code, at, taker) for at in loads if (taker := taker_of(code, at)[0]) and taker.opname in _READS]
    takers = [taker_of(code, at)[0] for at in reads]
    return any(each is None or each.argval in _OF_ENTRIES or each.opname in OF_ENTRY for each in takers)


def taking_call(code: Sequence[Any], at: int) -> int | None:
    """Where a method that an instruction loads is called with one argument, for what it does only; None elsewhere."""
    taker, _ = taker_of(code, at)
    if taker is None or not taker.opname.startswith("CALL") or taker.arg != 1 or taker.opname in _CALLS_BY_NAME:
        return None
    call = place_of(code, at, taker)
    named = any(each.opname == "KW_NAMES" for each in code[call - 2 : call])
    return None if named or code[call + 1].opname != "POP_TOP" else call


_CALLS_BY_NAME = ("CALL_FUNCTION_KW", "CALL_KW", "CALL_FUNCTION_EX")


def goes_into_loop(code: Sequence[Any], at: int) -> bool:
    """Whether a loop goes through what the method gives that an instruction loads.

    It does so itself, by `enumerate` or `zip`, or by a variable that is used for nothing else.
    """
    for _ in range(3):
        taker, _ = taker_of(code, at)
        if taker is None or not taker.opname.startswith("CALL"):
            return False
        at = next(place for place in range(at, len(code)) if code[place] is taker)
        after = code[at + 1]
        if after.opname == "GET_ITER":
            return True
        if after.opname == "STORE_FAST":
            uses = [place for place, each in enumerate(code) if each.argval == after.argval and place != at + 1]
            return bool(uses) and all(_is_gone_through(code, place) for place in uses)
    return False


def _is_gone_through(code: Sequence[Any], at: int) -> bool:
    """Whether an instruction loads a variable for a loop, or for its length."""
    taker, _ = taker_of(code, at)
    if not code[at].opname.startswith("LOAD_FAST") or taker is None:
        return False
    name = asked(code, at) if taker.opname.startswith("CALL") else ""
    return taker.opname == "GET_ITER" or name in ("len", "enumerate", "zip", "reversed", "stack", "cat")


def may_change_later(code: Sequence[Any], places: dict[int, int], name: str, start: int) -> bool:
    """Whether a list may change from an instruction on, since nobody keeps it before its last change."""
    changes = Uses(code, name, range(start, len(code))).changes
    end = changes[-1] if changes else -1
    jumps = [(at, places[id(each.target)]) for at, each in enumerate(code) if each.target is not None]
    while longer := [at for at, goes in jumps if start <= goes <= end < at]:
        end = max(longer)
    return bool(changes) and Uses(code, name, range(start, end + 1)).known
