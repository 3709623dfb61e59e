"""Finds whether what some instructions give is made there, as its entries are: then nothing else can know them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import CodeType
from typing import Any

from ..assembly import plain_instructions
from ..loops.growing import written
from ..loops.outlined import MADE, SKIPPED, outlined
from .run_at_once import AT_ONCE
from .takers import FILLS, function_at, taker_of

_TURNS = ("SWAP", "ROT_TWO", "ROT_THREE")
_BETWEEN = ("PRECALL", "KW_NAMES", "NOP", "PUSH_NULL")
_SEVERAL = ("COPY", "DUP_TOP", "UNPACK_SEQUENCE", "UNPACK_EX")
_NEW = ("list", "dict", "set", "sorted", "deepcopy", "str", "int", "float", "len", "sum", "tuple")
_MAKES = ("BUILD_", "LOAD_CONST", "BINARY_OP", "COMPARE_", "FORMAT_", "LIST_", "DICT_", "SET_")
_MAKERS = ("Counter", "deepcopy", "tolist", "split")
_EMPTY = ("list", "dict", "set", "deque", "OrderedDict", "defaultdict")
_BY_NAME = ("dict", "OrderedDict")
_OF_CONSTANTS = ["BUILD_LIST", "LOAD_CONST", "LIST_EXTEND"]
_TIMES = 5  # the argument of BINARY_OP for *


def stores_new(code: Sequence[Any], store: int, levels: int) -> bool:
    """Whether what an instruction stores is new, as `gives_new` says of it.

    Args:
        code: the instructions.
        store: the place of that one.
        levels: how deep it must be new.
    """
    if any(each.target is code[store] for each in code):
        return False
    at = store - 1
    while at and code[at].opname in (*_BETWEEN, "STORE_FAST"):  # of several names at once
        at -= 1
    stored = sum(each.opname == "STORE_FAST" for each in code[at:store])
    if code[at].opname in _TURNS:
        return all(
            gives_new(code, part, levels) for part in _uppermost(code, at - 1, max(stored + 1, _count(code[at])))
        )
    if code[at].opname in _SEVERAL:
        return False
    return gives_new(code, [*_uppermost(code, at, stored + 1)][-1], levels)


def gives_new(code: Sequence[Any], at: int, levels: int = 1) -> bool:
    """Whether what an instruction gives is a number, a text, or a container that is made there.

    Args:
        code: the instructions.
        at: the place of that one.
        levels: how deep that must be so: 1 for the container itself, 2 for its entries as well.
    """
    if levels < 1:
        return True
    if any(each.target is code[at + 1] for each in code):  # the other side of a choice may give what is known
        return False
    while at and code[at].opname in _BETWEEN:
        at -= 1
    each = code[at]
    if levels > 1 and each.opname == MADE:
        start = next(before for before in range(at, -1, -1) if code[before].opname == SKIPPED)
        return _puts_new(code[start:at], levels - 1)
    if levels > 1 and each.opname in FILLS:
        return [part.opname for part in code[at - 2 : at + 1]] == _OF_CONSTANTS
    if levels > 1 and each.opname.startswith("BUILD_"):
        return all(gives_new(code, part, levels - 1) for part in _parts(code, at))
    if levels > 1 and each.opname.startswith("BINARY_"):
        return _repeats_constants(code, at)
    if each.opname.startswith("CALL"):
        return _call_gives_new(code, at, levels)
    return bool(each.opname.startswith(_MAKES if levels == 1 else "LOAD_CONST"))


def _count(turns: Any) -> int:
    """How many entries of the stack an instruction may exchange."""
    return turns.arg if turns.opname == "SWAP" else 3 if turns.opname == "ROT_THREE" else 2


def _uppermost(code: Sequence[Any], at: int, count: int) -> Iterator[int]:
    """The instructions that give the uppermost entries of the stack, as it is after one of them."""
    for _ in range(count):
        while at and code[at].opname in _BETWEEN:
            at -= 1
        yield at
        at = _start(code, at) - 1


def _start(code: Sequence[Any], at: int) -> int:
    """Where the expression begins whose value an instruction gives."""
    return min([at, *(_start(code, part) for part in _parts(code, at))])


def _call_gives_new(code: Sequence[Any], at: int, levels: int) -> bool:
    parts = _parts(code, at)
    if not parts:
        return False
    first, *arguments = parts
    made = _code_of(code, first)
    if made is not None and made.co_name in AT_ONCE:
        return _puts_new(outlined(plain_instructions(written.get(made, made))), levels - 1)
    name = _called(code, first)
    if levels == 1 and name in _NEW:
        return True
    if name in _MAKERS or (name in _EMPTY and len(arguments) <= (name == "defaultdict")):
        return True
    named, given = len(_keywords(code, at)), sum(code[part].opname not in FILLS for part in arguments)
    if name in _BY_NAME and named == given > 0:
        return all(gives_new(code, part, levels - 1) for part in arguments)
    return name in ("list", "tuple") and levels == 2 and len(arguments) == 1 and _maps_new(code, arguments[0])


def _maps_new(code: Sequence[Any], at: int) -> bool:
    """Whether an instruction calls `map` with what makes a container: ``list(map(list, rows))``."""
    parts = _parts(code, at) if code[at].opname.startswith("CALL") else []
    return len(parts) == 3 and _called(code, parts[0]) == "map" and _called(code, parts[1]) in _NEW


def _repeats_constants(code: Sequence[Any], at: int) -> bool:
    """Whether an instruction repeats a list of numbers or texts: ``[0] * n``."""
    if code[at].opname != "BINARY_MULTIPLY" and code[at].arg != _TIMES:
        return False
    items = [_parts(code, part) for part in _parts(code, at) if code[part].opname == "BUILD_LIST"]
    return any(some and all(code[part].opname == "LOAD_CONST" for part in some) for some in items)


def _called(code: Sequence[Any], at: int) -> str:
    """The name of the function that an instruction gives, or makes of the code of what stands for it."""
    made = _code_of(code, at)
    return function_at(code, at) if made is None else made.co_name.rpartition(".")[2]


def _code_of(code: Sequence[Any], at: int) -> CodeType | None:
    """The code of which an instruction makes a function; before Python 3.11 a name is loaded after it."""
    if code[at].opname != "MAKE_FUNCTION":
        return None
    return next((found for part in (at - 1, at - 2) if isinstance(found := code[part].argval, CodeType)), None)


def _keywords(code: Sequence[Any], at: int) -> Sequence[str]:
    """The names by which a call is given arguments."""
    named = next((each for each in reversed(code[max(at - 2, 0) : at]) if each.opname == "KW_NAMES"), None)
    if named is None and code[at].opname in ("CALL_FUNCTION_KW", "CALL_KW"):
        named = code[at - 1]
    found: Sequence[str] = () if named is None else named.argval
    return found


def _parts(code: Sequence[Any], at: int) -> list[int]:
    """The instructions that give what another one takes."""
    return [b for b in range(at) if code[b].opname not in _BETWEEN and taker_of(code, b)[0] is code[at]]


def _puts_new(code: Sequence[Any], levels: int) -> bool:
    """Whether a comprehension makes what it puts into its result."""
    puts = [at for at, each in enumerate(code) if each.opname in ("LIST_APPEND", "MAP_ADD", "SET_ADD")]
    return all(gives_new(code, at - 1, levels) for at in puts)
