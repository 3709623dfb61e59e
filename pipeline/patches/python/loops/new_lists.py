"""Finds where a local variable gets a list, a set or a dict that was made for it, as in ``out, last = [], 0``."""

from __future__ import annotations

import dis
from collections.abc import Sequence
from types import CodeType
from typing import Any

from ....proxies.lists import GROWING
from ..rounds.run_at_once import asked
from ..rounds.takers import FILLS, taker_of
from .flow import goes_on
from .growing import OF_ENTRY, Uses

CHANGING = (*GROWING, "update", "setdefault")
"""The methods that change a list or a dict of one name."""
_BELOW_KEY = 2  # how deep a dict lies on the stack when an entry is stored in it
_MOST_OF_STORE = 60  # the instructions of the key of such an entry

_COPIES = ("COPY", "DUP_TOP", "DUP_TOP_TWO", "ROT_FOUR", "ROT_N")
_TURNED = {1: 3, 2: 1, 3: 2}
"""How deep entries of the stack lie before ROT_THREE of Python 3.10, as in ``a, b, c = [], {}, 0`` -> and after it."""
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")


def is_new_list(
    code: Sequence[Any],
    places: dict[int, int],
    listed: str,
    head: int,
    filled: bool = False,
    kinds: Sequence[str] = ("list",),
) -> bool:
    """Whether a list is made before a loop, with nothing between that could know of it or run twice.

    Args:
        code: the instructions.
        places: where each of them stands.
        listed: the name of the list.
        head: of the loop.
        filled: whether the list may have items from the beginning.
        kinds: what it may be besides: a "set", a "dict", or a "table", a dict of another class.
    """
    stores = [at for at in range(head) if code[at].opname == "STORE_FAST" and code[at].argval == listed]
    made = _made(code, stores[-1], filled, kinds) if stores else None
    if made is None:
        return False
    between = range(stores[-1] + 1, head)
    if any(code[at].target is not None or listed in _names(code[at]) for at in between):
        return False
    targets = {places.get(id(each.target)) for each in code if each.target is not None}
    return not any(at in targets for at in range(made + 1, head))


def stores_new_list(code: Sequence[Any], at: int) -> bool:
    """Whether an instruction stores a list, a set or a dict that was made for it."""
    built = _made(code, at, filled=True, kinds=("list", "set", "dict")) is not None
    return built or _is_copied(code, at) or (at > 0 and _repeats(code[at - 1]))


def _is_copied(code: Sequence[Any], store: int) -> bool:
    """Whether an instruction stores a copy, as in ``row = dict(record)`` or ``row = copy.copy(record)``."""
    before = range(store - 1, max(store - _MOST_OF_STORE, 0), -1)
    made = next((at for at in before if code[at].opname.startswith("CALL") and _stored_by(code, at) == store), 0)
    starts = [at for at in before if at < made and asked(code, at + 1) in _COPYING]
    return any(taker_of(code, at)[0] is code[made] for at in starts)


_COPYING = ("dict", "list", "set", "sorted", "copy", "deepcopy")
"""What gives a new container, whatever it is given."""


def is_own_list(code: Sequence[Any], at: int) -> bool:
    """Whether an instruction asks a list for a method, which one local variable alone has known since it was made."""
    before = code[at - 1]
    loads = at > 0 and before.opname.startswith("LOAD_FAST") and type(before.argval) is str
    return loads and has_one_name(code, before.argval, at)


def is_changed_dict(code: Sequence[Any], at: int) -> bool:
    """Whether an instruction loads a dict, which that variable alone has known since it was made, to store an entry."""
    if not any(each.opname in OF_ENTRY for each in code[at : at + _MOST_OF_STORE]):
        return False
    taker, depth = taker_of(code, at)
    stores = taker is not None and taker.opname in OF_ENTRY and depth == _BELOW_KEY
    return stores and has_one_name(code, code[at].argval, at)


def has_one_name(code: Sequence[Any], name: str, at: int) -> bool:
    """Whether one local variable alone knows what it holds at an instruction, since that was made.

    What was stored last is what it holds, in the same round of the same loop: nothing jumps in between. It comes from a
    call or a comprehension, or was built there.
    """
    stores = [place for place, each in enumerate(code) if each.opname.startswith("STORE_") and name in _names(each)]
    last = max((place for place in stores if place < at), default=0)
    if not last or code[last].opname != "STORE_FAST" or not _stores_new_object(code, last):
        return False
    places = {id(each): place for place, each in enumerate(code)}
    heads = [place for place in range(last, at) if code[place].opname == "FOR_ITER" and not goes_on(code, place)]
    if any(places[id(code[head].target)] > at for head in heads):
        return False
    if len(stores) > 1 and _is_entered(code, places, range(last + 1, at + 1)):
        return False
    return Uses(code, name, range(last + 1, at)).known


def _is_entered(code: Sequence[Any], places: dict[int, int], inside: range) -> bool:
    """Whether an instruction outside of some jumps to one of them."""
    jumps = ((at, places.get(id(each.target), -1)) for at, each in enumerate(code) if each.target is not None)
    return any(to in inside and at not in inside for at, to in jumps)


def _gives_new_object(code: Sequence[Any], at: int) -> bool:
    """Whether what an instruction pushes is known by nothing else, as far as its name tells: of a call, a display or a
    comprehension, which from Python 3.12 on restores its variable at the end.
    """
    names = [each.opname for each in code[max(at - 2, 0) : at + 1]]
    restores = names[1:] == ["SWAP", "STORE_FAST"] and names[0] in ("END_FOR", "POP_TOP")
    return restores or names[-1].startswith(("CALL", "BUILD_", "LIST_", "SET_", "DICT_")) or _repeats(code[at])


def _repeats(each: Any) -> bool:
    """Whether an instruction gives a product, as in ``[0] * n``, or a sum of lists."""
    return each.opname in ("BINARY_MULTIPLY", "BINARY_ADD") or (each.opname == "BINARY_OP" and each.arg in _NEW)


_NEW = (0, 5)
"""The arguments of BINARY_OP for + and *."""


def _stores_new_object(code: Sequence[Any], store: int) -> bool:
    """Whether an instruction stores such a thing, alone or as one of several names, as in ``words, n = f(), 0``."""
    if _gives_new_object(code, store - 1):
        return True
    for start in range(store - 1, -1, -1):
        makes = code[start].opname.startswith(("CALL", "BUILD_")) or _repeats(code[start])
        if makes and _stored_by(code, start) == store:
            return True
        if code[start].target is not None:
            return False
    return False


def _made(code: Sequence[Any], store: int, filled: bool, kinds: Sequence[str] = ("list",)) -> int | None:
    """The place of the instruction that makes the container that another one stores."""
    for start in range(store - 1, -1, -1):
        each = code[start]
        kind, empty = _kind(code, start)
        if kind in kinds and (filled or empty) and _stored_by(code, start) == store:
            return start
        if each.target is not None:
            return None
    return None


_BUILT = {"BUILD_LIST": "list", "BUILD_SET": "set", "BUILD_MAP": "dict", "BUILD_CONST_KEY_MAP": "dict"}
_CALLED = {name: name for name in ("list", "set", "dict")} | {"defaultdict": "table", "Counter": "table"}


def _kind(code: Sequence[Any], at: int) -> tuple[str, bool]:
    """Which container an instruction makes, an empty text for none, and whether it is empty."""
    each = code[at]
    if each.opname in _BUILT:
        return _BUILT[each.opname], not each.arg
    if each.opname.startswith("CALL") and _is_deque(code, at):
        return "table", False
    if not each.opname.startswith("CALL") or each.arg not in (0, 1):
        return "", False
    first = at - (code[at - 1].opname == "PRECALL")
    if each.arg:  # the kind of what a defaultdict has for other keys: a name, or a function
        first -= 1
        while code[first].opname in ("MAKE_FUNCTION", "NOP") or isinstance(code[first - 1].argval, CodeType):
            first -= 1
    name = asked(code, first)
    kind = _CALLED.get(name, "")
    return (kind, True) if not each.arg or name == "defaultdict" else ("", False)


def _is_deque(code: Sequence[Any], call: int) -> bool:
    """Whether an instruction calls `deque`."""
    loads = [at for at in range(max(call - _MOST_OF_STORE, 0), call) if asked(code, at + 1) == "deque"]
    return any(taker_of(code, at)[0] is code[call] for at in loads)


def _stored_by(code: Sequence[Any], start: int) -> int | None:
    """The instruction that stores what one has pushed, if nothing else takes it from the stack before."""
    depth = 1  # how far it lies below the top, beginning with 1
    for at in range(start + 1, len(code)):
        each = code[at]
        if each.opname == "STORE_FAST" and depth == 1:
            return at
        if each.opname in ("SWAP", "ROT_TWO"):
            other = each.arg if each.opname == "SWAP" else 2
            depth = other if depth == 1 else 1 if depth == other else depth
            continue
        if each.opname == "ROT_THREE":
            depth = _TURNED.get(depth, depth)
            continue
        if each.target is not None or each.opname in _COPIES or (depth == 1 and each.opname in _ATTRIBUTES):
            return None
        effect = dis.stack_effect(each.opcode, (each.arg or 0) if each.opcode >= dis.HAVE_ARGUMENT else None)
        taken = 1 if each.opname == "STORE_FAST" or each.opname in FILLS else max(1 - effect, 0)
        if taken >= depth:
            return None
        depth += effect
    return None


def _names(each: Any) -> tuple[Any, ...]:
    """What an instruction names: one thing, or two in Python 3.13."""
    return each.argval if isinstance(each.argval, tuple) else (each.argval,)
