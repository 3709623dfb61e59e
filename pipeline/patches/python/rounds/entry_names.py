"""Finds whether what a container holds has other names, too, where a loop changes it: ``first = rows[0]``.

In a recording ``rows[i].append(item)`` makes another value of `rows`, which no other name of one of its lists would
show. So nothing but the container may know its entries where a change can follow: whatever is not known to leave an
entry alone hands it on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ....proxies.values.changing import MOST_SHARED
from ..loops.flow import LOADS, LocalFlow
from ..loops.outlined import SKIPPED
from .made_entries import gives_new, stores_new
from .run_at_once import asked
from .takers import ATTRIBUTES, BELOW_KEY, place_of, taker_of

_PUTS = ("append", "appendleft", "add", "insert", "extend", "update", "setdefault")
_TAKES_OUT = ("pop", "popleft", "clear", "remove", "discard", "sort", "reverse")
_COPIES = ("values", "items", "copy", "keys")
_LOOKS = ("index", "count")
_COUNTS = ("len", "any", "all", "str", "print", "repr", "bool", "stack", "cat", "tensor", "array", "join")
"""What gives nothing of a container that knows what that holds."""
_KEEPS = ("list", "sorted", "tuple", "reversed", "enumerate", "zip", "iter", "dict", "copy", "min", "max", "sum", "set")
"""What gives what a container holds, in another one or by itself."""
_TURNS = ("SWAP", "ROT_TWO", "ROT_THREE")
_TESTS = ("COMPARE_OP", "CONTAINS_OP", "IS_OP", "POP_TOP", "UNARY_", "TO_BOOL", "POP_JUMP", "FORMAT_", "RETURN_VALUE")
_COPYING = ("COPY", "DUP_TOP_TWO")
_ADDS = 13  # the argument of BINARY_OP for +=


class EntryNames:
    """What some instructions do with what a container holds.

    Args:
        code: the instructions.
        name: of the container.
    """

    def __init__(self, code: Sequence[Any], name: str) -> None:
        self.code, self.flow = code, LocalFlow(code)
        self.changes: list[tuple[int, int, str, str]] = []  # where, how deep in the container, the entry, by which name
        self.handed: list[tuple[int, int, str]] = []  # where an entry may get another name, how deep it is, and which
        self.names: list[tuple[str, int, str, int]] = []  # of an entry, how deep that is, which, where it is stored
        self._follow_name(name, 0, "")
        self.stores = [at for at, each in enumerate(code) if each.opname.startswith("STORE_") and each.argval == name]

    def sharing(self) -> int:
        """Whether a change of what the container holds may miss another name of that: as `Growing.shared`."""
        deepest = max((depth for _, depth, _, _ in self.changes), default=0)
        if (deepest and not self._is_made(2)) or self._are_handed_on(deepest):
            return MOST_SHARED
        return int(deepest > 1 and not self._is_made(1 + deepest))

    def _is_made(self, levels: int) -> bool:
        """Whether what is stored as the container is new, down to a level: 2 for the container and its entries."""
        return all(stores_new(self.code, store, levels) for store in self.stores)

    def _are_handed_on(self, deepest: int) -> bool:
        for at, depth, key in self.handed:
            changes = [place for place, _, other, _ in self.changes if _may_be_one(key, other)]
            if depth <= deepest and self.flow.meets_later(at, "", changes):
                return True
        return any(self._is_stale(*each) for each in self.names if each[1] <= deepest)

    def _is_stale(self, name: str, _: int, key: str, store: int) -> bool:
        """Whether an entry's name may be read after the entry was changed by another one."""
        others = [at for at, _, other, by in self.changes if by != name and _may_be_one(key, other)]
        met = [at for at in others if self.flow.meets_later(store, name, [at])]
        return any(self.flow.reads_later(after, name) for at in met for after in self.flow.following(at))

    def _follow_name(self, name: str, depth: int, key: str) -> None:
        for at, each in enumerate(self.code):
            if each.argval != name or not each.opname.startswith("LOAD_"):
                continue
            if each.opname in LOADS or each.opname == "LOAD_DEREF":
                self._follow(at, depth, key, name)
            else:  # a function inside knows it
                self.handed.append((at, depth + 1, key))

    def _follow(self, at: int, depth: int, key: str, by: str) -> None:
        """Takes note of what becomes of a container that an instruction gives: the one itself, or one in it."""
        code = self.code
        taker, below = taker_of(code, at)
        if taker is None:
            self.handed.append((at, max(depth, 1), key))
            return
        place, name = place_of(code, at, taker), taker.opname
        if name in ATTRIBUTES:
            self._method(place, taker.argval, depth, key, by)
        elif name == "BINARY_SUBSCR":
            sliced = code[place - 1].opname == "BUILD_SLICE"
            if below > 1:
                self._follow(place, depth + (not sliced), key if depth else self._key(place), by)
        elif name in ("STORE_SUBSCR", "DELETE_SUBSCR"):
            self._store(at, place, depth, below, key, by)
        elif name.startswith("CALL"):
            self._call(at, place, depth, key, by)
        elif name == "GET_ITER":
            self._loop(place, depth, key, by)
        elif name == "STORE_FAST":
            self._named(taker.argval, depth, key, place, by)
        elif name == "UNPACK_SEQUENCE":
            for target in self._targets(place):
                self._named(code[target].argval, depth + 1, key, target, by)
        elif name.startswith("BINARY_"):
            self._follow(place, depth, key, by)
        elif name.startswith("BUILD_"):
            if not self._is_returned(place):
                self.handed.append((at, max(depth, 1), key))
        elif not name.startswith(_TESTS):
            self.handed.append((at, max(depth, 1), key))

    def _method(self, place: int, method: str, depth: int, key: str, by: str) -> None:
        call = place_of(self.code, place, taker) if (taker := taker_of(self.code, place)[0]) else None
        if call is None or not self.code[call].opname.startswith("CALL"):
            self.handed.append((place, depth + 1, key))
        elif method in _PUTS:
            self.changes += [(place, depth, key, by)] if depth else []
            if not gives_new(self.code, call - 1):
                self.handed.append((place, depth + 1, key))
            if method == "setdefault":
                self._follow(call, depth + 1, key, by)
        elif method in _TAKES_OUT:
            self.changes += [(place, depth, key, by)] if depth else []
        elif method == "get":
            self._follow(call, depth + 1, key, by)
        elif method in _COPIES:
            self._follow(call, depth, key, by)
        elif method not in _LOOKS:
            self.handed.append((place, depth + 1, key))

    def _store(self, at: int, place: int, depth: int, below: int, key: str, by: str) -> None:
        """Takes note of a store into a container, or of it in another one, or of its use as a key."""
        if below > BELOW_KEY:
            self.handed.append((at, max(depth, 1), key))
        if below != BELOW_KEY:
            return
        self.changes += [(at, depth, key, by)] if depth else []
        key = key if depth else self._key(place)
        adds = [each for each in self.code[at:place] if each.opname == "INPLACE_ADD" or _adds(each)]
        if adds and not self.code[place - 1].opname.startswith("BINARY_SUBSCR"):
            if self._is_list(self.code.index(adds[-1]) - 1):
                self.changes.append((at, depth + 1, key, by))
        elif self.code[place].opname == "STORE_SUBSCR" and not gives_new(self.code, self._before(at) - 1):
            self.handed.append((at, depth + 1, key))

    def _before(self, at: int) -> int:
        """The instruction that loads the name of a container, of which one gives a part."""
        while at and not self.code[at].opname.startswith("LOAD_"):
            at -= 1
        return at

    def _call(self, at: int, place: int, depth: int, key: str, by: str) -> None:
        name = asked(self.code, at)
        if name in _KEEPS:
            self._follow(place, depth, key, by)
        elif name not in _COUNTS:
            self.handed.append((at, max(depth, 1), key))

    def _loop(self, place: int, depth: int, key: str, by: str) -> None:
        """Takes note of the variables of a loop over a container; what a comprehension gives may hold its entries."""
        following = self.code[place + 1]
        if following.opname != "FOR_ITER":
            end = following.argval[0] if following.opname == SKIPPED else place + 1
            if end + 1 < len(self.code):
                self._follow(end, depth, key, by)
            return
        for target in self._targets(place + 1):
            self._named(self.code[target].argval, depth + 1, key, target, by)

    def _targets(self, at: int) -> Iterator[int]:
        """Where what an instruction gives is stored, or its parts are."""
        left, at = 1, at + 1
        if self.code[at - 1].opname == "UNPACK_SEQUENCE":
            left = self.code[at - 1].arg
        while left and at < len(self.code):
            each = self.code[at]
            if each.opname == "UNPACK_SEQUENCE":
                left += each.arg - 1
            elif each.opname == "STORE_FAST":
                left -= 1
                yield at
            elif each.opname not in ("NOP", "POP_TOP", "STORE_DEREF", "SWAP"):
                return
            else:
                left -= each.opname in ("POP_TOP", "STORE_DEREF")
            at += 1

    def _named(self, name: str, depth: int, key: str, store: int, by: str) -> None:
        """Takes note of another name, for an entry or for another container with the same entries."""
        known = name == by or any(name == other for other, _, _, _ in self.names)
        if name != by:
            self.names.append((name, max(depth, 1), key, store))
        if not known:
            self._follow_name(name, depth, key)

    def _key(self, place: int) -> str:
        """The text by which an instruction asks for an entry; empty where it may be any."""
        at = place - 1
        if self.code[at].opname in _TURNS:  # of `table[key] += 1`, which copies the table and its key first
            at = next((before for before in range(at, 0, -1) if self.code[before].opname in _COPYING), 1) - 1
            at -= self.code[at].opname in _COPYING
        each = self.code[at]
        return each.argval if each.opname == "LOAD_CONST" and isinstance(each.argval, str) else ""

    def _is_returned(self, at: int) -> bool:
        taker = taker_of(self.code, at)[0]
        if taker is None or not taker.opname.startswith("BUILD_"):
            return taker is not None and taker.opname == "RETURN_VALUE"
        return self._is_returned(place_of(self.code, at, taker))

    def _is_list(self, at: int) -> bool:
        """Whether an instruction may give a list, which is added in place."""
        return not self.code[at].opname.startswith(("LOAD_CONST", "COMPARE_", "FORMAT_"))


def _may_be_one(key: str, other: str) -> bool:
    return not (key and other) or key == other


def _adds(each: Any) -> bool:
    return bool(each.opname == "BINARY_OP" and each.arg == _ADDS)
