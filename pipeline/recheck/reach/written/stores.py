"""What some code can write, told by its instructions: names, keys of subscripts, and the methods that it names.

A trace puts back what the function wrote, and nothing else: other threads write into the same objects meanwhile. Which
object an instruction writes to is not known, but a name that no code stores, and a list that no code fills, are as the
function found them or as another thread left them.
"""

from __future__ import annotations

import dis
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from .receivers import ANY, Receivers

_ATTRIBUTES = frozenset(("STORE_ATTR", "DELETE_ATTR"))
_GLOBALS = frozenset(("STORE_GLOBAL", "DELETE_GLOBAL"))
_VARIABLES = frozenset(("STORE_DEREF", "DELETE_DEREF"))
_SUBSCRIPTS = frozenset(("STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE"))
BY_TEXT = frozenset(
    """exec eval globals locals vars __globals__ __dict__ setattr delattr __setattr__ __delattr__ __setstate__
    __import__ import_module modules _getframe currentframe get_referents get_referrers cell_contents __closure__
    __subclasses__ __reduce__ __reduce_ex__ methodcaller __builtins__ __code__ f_locals f_globals""".split()
)
"""Names by which code can write anything, or run code that nobody sees."""
DYNAMIC = frozenset("getattr getattr_static getmembers attrgetter __getattribute__ __getattr__".split())
"""Names by which code can come to an attribute that it does not name."""
_OF_LISTS = frozenset(
    """append extend insert remove pop clear sort reverse appendleft extendleft popleft rotate __setitem__ __delitem__
    __iadd__ __imul__ heappush heappop heapify heappushpop heapreplace _heappop_max _heapify_max
    _heapreplace_max insort insort_left insort_right shuffle setitem delitem iadd imul iconcat""".split()
)
_OF_DICTS = frozenset(
    """update pop popitem setdefault clear move_to_end subtract __setitem__ __delitem__ __ior__ __iadd__ __isub__
    __iand__ __missing__ setitem delitem ior iadd isub iand""".split()
)
_OF_SETS = frozenset(
    """add discard remove pop clear update difference_update intersection_update symmetric_difference_update __ior__
    __iand__ __isub__ __ixor__ ior iand isub ixor""".split()
)
_OF_MEMORY = frozenset(
    """fill put itemset resize partition setfield byteswap setflags copyto place putmask put_along_axis fill_diagonal at
    out nan_to_num frombytes fromfile fromlist fromunicode pack_into readinto readinto1 recv_into write cast memmove
    memset as_strided inplace""".split()
)
_OF_ITSELF = frozenset(
    """append extend insert remove pop popitem clear sort reverse appendleft extendleft popleft rotate update setdefault
    move_to_end subtract add discard difference_update intersection_update symmetric_difference_update""".split()
)
"""The methods by which a container fills itself, and nothing that it is given."""
_OF_ARRAYS = _OF_MEMORY | (_OF_LISTS - _OF_ITSELF) | {"sort"}
_OF_ATTRIBUTES = frozenset("__setattr__ __delattr__ __set__ __delete__".split())
_IN_PLACE = frozenset("__iadd__ __isub__ __imul__ __ior__ __iand__ __ixor__ __itruediv__ __imatmul__".split())
RUN_BY_STORES = frozenset(("__setitem__", "__delitem__")) | _OF_ATTRIBUTES | _IN_PLACE
"""Methods that instructions run which write."""


@dataclass(frozen=True)
class Stores:
    """What code can write.

    Attributes:
        attributes: the attributes that it sets or deletes.
        variables: the globals, and the variables of outer functions.
        keys: those that it sets or deletes in subscripts; None where they are not known.
        asked: those that it asks for, which adds to a `defaultdict`; None where they are not known.
        in_place: the operators in place, such as ``+=``, whose operand may be more than a number; each with the name
            under which the result is kept, empty where it is not known.
        numbers: the same of those whose operand is a number of the code.
        fills: the methods and functions that it names which may fill something; each with the name by which it has
            what is filled, empty where that is not known. What it made itself is left out.
        binds: the names under which it may keep anything: that of a store, an argument or a text.
        named: all names in it; and its texts, where it finds attributes by a text.
        imports: the modules that it imports.
    """

    attributes: frozenset[str] = frozenset()
    variables: frozenset[str] = frozenset()
    keys: frozenset[Any] | None = frozenset()
    asked: frozenset[Any] | None = frozenset()
    in_place: frozenset[tuple[str, str]] = frozenset()
    numbers: frozenset[tuple[str, str]] = frozenset()
    fills: frozenset[tuple[str, str]] = frozenset()
    binds: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()
    imports: frozenset[str] = frozenset()

    def runs(self, name: str) -> bool:
        """Whether its instructions may run a method of `RUN_BY_STORES` of some object."""
        if name in ("__setitem__", "__delitem__"):
            return self.keys is None or bool(self.keys)
        return bool(self.attributes) if name in _OF_ATTRIBUTES else bool(self.in_place | self.numbers)

    @property
    def anywhere(self) -> bool:
        """Whether it can write anything, as by `exec` or `setattr`."""
        return not BY_TEXT.isdisjoint(self.named)

    def keys_in(self, thing: Any, names: frozenset[str]) -> frozenset[Any] | None:
        """The keys under which it can write into a container or an array; None for any key.

        Args:
            thing: the container.
            names: the names under which it is kept.
        """
        match thing:
            case dict():
                operators = ("|=", "+=", "-=", "&=") if isinstance(thing, Counter) else ("|=",)
                return self._in_dict(thing, self._operates(self.in_place, operators, names), names)
            case set():
                return _any_if(
                    self._calls(_OF_SETS, names) or self._operates(self.in_place, ("|=", "&=", "-=", "^="), names)
                )
            case list() | deque():
                operates = self._operates(self.in_place, ("+=",), names)
                repeats = self._operates(self.in_place | self.numbers, ("*=",), names)
                return _any_if(operates or repeats or self._calls(_OF_LISTS, names) or self._sets_items())
        methods = _OF_ARRAYS if isinstance(thing, np.ndarray) else _OF_MEMORY | _OF_LISTS
        called = any(name in methods or _is_in_place(name) for name, _ in self.fills)  # by whatever name, as a view
        operates = any(not name or name in names for _, name in self.in_place | self.numbers)
        return _any_if(called or operates or self._sets_items())

    def _in_dict(self, thing: dict[Any, Any], operates: bool, names: frozenset[str]) -> frozenset[Any] | None:
        asked = frozenset[Any]() if type(thing) in _PLAIN_DICTS else self.asked  # what it lacks may be added
        if operates or self._calls(_OF_DICTS, names) or self.keys is None or asked is None:
            return None
        return self.keys | asked | self.attributes | self.variables  # a dict may hold the attributes of something

    def _calls(self, methods: frozenset[str], names: frozenset[str]) -> bool:
        return any(method in methods and (not name or name in names) for method, name in self.fills)

    def _sets_items(self) -> bool:
        return self.keys is None or any(not isinstance(key, str) for key in self.keys)

    def _operates(self, found: frozenset[tuple[str, str]], operators: Sequence[str], names: frozenset[str]) -> bool:
        return any(operator in operators and (not name or name in names) for operator, name in found)


def _any_if(written: bool) -> frozenset[Any] | None:
    return None if written else frozenset()


def _is_in_place(name: str) -> bool:
    """Whether a name is that of a method of torch that writes: ``add_``."""
    return name.endswith("_") and not name.endswith("__")


_PLAIN_DICTS = (dict, OrderedDict, Counter)


def joined(
    found: Sequence[Stores], attributes: Iterable[str], named: Iterable[str], holds: Callable[[str], bool]
) -> Stores:
    """What several codes can write.

    Args:
        found: what each of them can.
        attributes: those that are written beside, as by a cached property.
        named: the names of what they call without naming what is filled.
        holds: whether nothing but containers is kept under a name, so that code fills these by it.
    """
    binds = frozenset[str]().union(*(each.binds for each in found))
    fills = frozenset[tuple[str, str]]().union(*(each.fills for each in found))
    known = {name for _, name in fills if name not in binds and holds(name)}
    return Stores(
        frozenset(attributes).union(*(each.attributes for each in found)),
        frozenset[str]().union(*(each.variables for each in found)),
        _all_keys(each.keys for each in found),
        _all_keys(each.asked for each in found),
        frozenset[tuple[str, str]]().union(*(each.in_place for each in found)),
        frozenset[tuple[str, str]]().union(*(each.numbers for each in found)),
        frozenset((method, name if name in known else ANY) for method, name in fills).union(_filling(named)),
    )


def _filling(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The names among some which may fill something that is not known."""
    return ((name, ANY) for name in names if name in _FILLING or _is_in_place(name))


def _all_keys(found: Iterable[frozenset[Any] | None]) -> frozenset[Any] | None:
    every = list(found)
    known = [each for each in every if each is not None]
    return frozenset[Any]().union(*known) if len(known) == len(every) else None


_known: WeakKeyDictionary[CodeType, dict[frozenset[str] | None, Stores]] = WeakKeyDictionary()


def stores_of(code: CodeType, makers: frozenset[str] | None) -> Stores:
    """What code can write by itself.

    Args:
        code: the code.
        makers: the functions that give it a new thing, as for `Receivers`.
    """
    found = _known.setdefault(code, {})
    if makers not in found:
        found[makers] = _read(code, makers)
    return found[makers]


def _read(code: CodeType, makers: frozenset[str] | None) -> Stores:
    receivers = Receivers(code, makers)
    lines = receivers.lines
    stored = [at for at, line in enumerate(lines) if line.opname in _SUBSCRIPTS and not _is_of_new(receivers, at)]
    asked = [at for at, line in enumerate(lines) if _is_subscript(line) and not receivers.is_new(at, 1)]
    operators = [(at, name, kept) for at, name in _operators(lines) if (kept := _kept(code, lines, at)) is not None]
    numbers = [type(_constant(lines, at)) in (int, float, bool, complex) for at, *_ in operators]
    names, texts = {*code.co_names}, [*_texts(code.co_consts)]
    if any(line.opname == "MATCH_CLASS" for line in lines):
        names.add("getattr")
    keywords = {text for each in code.co_consts if isinstance(each, tuple) for text in each if text in _KEYWORDS}
    if not DYNAMIC.isdisjoint(names):
        names.update(texts)
    attributes = {line.argval for line in lines if line.opname in _ATTRIBUTES}
    if code.co_filename == "<string>" and code.co_name in _GENERATED:  # of a frozen dataclass
        names -= {"__setattr__", "__delattr__"}
        attributes.update(texts)
    if code.co_filename == "<string>" and code.co_name in _COMPARED:  # of any dataclass: it makes no object
        names.discard("__class__")
    return Stores(
        frozenset(attributes),
        frozenset(line.argval for line in lines if line.opname in _GLOBALS | _VARIABLES),
        _all_keys(_key(lines, at) for at in stored),
        _all_keys(_key(lines, at) for at in asked if lines[at - 1].opname != "BUILD_SLICE"),
        frozenset((name, kept) for (_, name, kept), by_number in zip(operators, numbers, strict=True) if not by_number),
        frozenset((name, kept) for (_, name, kept), by_number in zip(operators, numbers, strict=True) if by_number),
        _fills(receivers, frozenset(names | keywords), texts),
        _binds(code, lines, texts),
        frozenset(names | keywords),
        frozenset(line.argval for line in lines if line.opname == "IMPORT_NAME" and line.argval),
    )


def _fills(receivers: Receivers, names: frozenset[str], texts: Iterable[str]) -> frozenset[tuple[str, str]]:
    methods = [*receivers.methods()]
    known = ((name, things) for name, things in methods if name in _FILLING or _is_in_place(name))
    found = {(name, each if name in _OF_ITSELF else ANY) for name, things in known for each in things}
    lines = (line for line in receivers.lines if line.opname not in ("LOAD_METHOD", "LOAD_ATTR"))
    others = {line.argval for line in lines if isinstance(line.argval, str)} | {*names}.difference(dict(methods))
    others |= set[str]() if DYNAMIC.isdisjoint(names) else {*texts}
    return frozenset(found).union(_filling(others & names))


def _binds(code: CodeType, lines: Sequence[dis.Instruction], texts: Iterable[str]) -> frozenset[str]:
    """The names under which code may keep anything that it has."""
    stores = _ATTRIBUTES | _GLOBALS | _VARIABLES
    return frozenset((*(line.argval for line in lines if line.opname in stores), *texts, *code.co_cellvars))


_FILLING = _OF_LISTS | _OF_DICTS | _OF_SETS | _OF_MEMORY
_KEYWORDS = ("out", "inplace")
_COMPARED = ("__eq__", "__lt__", "__le__", "__gt__", "__ge__", "__repr__")
_GENERATED = ("__init__", "__setattr__", "__delattr__")
_MISSING = object()


def _texts(constants: Iterable[Any]) -> Iterable[str]:
    flat = (part for each in constants for part in (each if isinstance(each, tuple | frozenset) else (each,)))
    return (part for part in flat if isinstance(part, str))


def _is_subscript(line: dis.Instruction) -> bool:
    return line.opname == "BINARY_SUBSCR" or (line.opname == "BINARY_OP" and line.argrepr == "[]")


def _operators(lines: Sequence[dis.Instruction]) -> Iterator[tuple[int, str]]:
    """The operators in place among instructions, each with its place."""
    for at, line in enumerate(lines):
        name = line.argrepr if line.opname == "BINARY_OP" else _OF_310.get(line.opname, "")
        if name.endswith("="):
            yield at, name


def _kept(code: CodeType, lines: Sequence[dis.Instruction], at: int) -> str | None:
    """The name under which the result of an operator in place is kept, empty where it is not known.

    None where it is kept in a variable of the code itself for which it made everything.
    """
    store = next(line for line in lines[at + 1 :] if line.opname not in ("SWAP", "ROT_TWO", "ROT_THREE"))
    if store.opname in _ATTRIBUTES | _GLOBALS | _VARIABLES:
        return str(store.argval)
    if store.opname == "STORE_FAST":
        return None if _is_made(code, lines, store.argval) else ""
    keys = _key(lines, lines.index(store)) if store.opname in _SUBSCRIPTS else None
    return next((key for key in keys or () if isinstance(key, str)), "")


def _is_made(code: CodeType, lines: Sequence[dis.Instruction], name: str) -> bool:
    """Whether a variable only ever holds what the code itself made."""
    arguments = code.co_argcount + code.co_kwonlyargcount + 2
    stores = [at for at, line in enumerate(lines) if line.opname.startswith("STORE_FAST") and name in _names(line)]
    plain = all(lines[at].opname == "STORE_FAST" and not lines[at].is_jump_target for at in stores)
    made = all(lines[at - 1].opname in _MAKING or lines[at - 1].opname.startswith("BINARY_") for at in stores)
    subscripts = any(_is_subscript(lines[at - 1]) for at in stores)
    return plain and made and not subscripts and name not in code.co_varnames[:arguments]


def _names(line: dis.Instruction) -> tuple[Any, ...]:
    return line.argval if isinstance(line.argval, tuple) else (line.argval,)


_MAKING = frozenset(
    "LOAD_CONST LOAD_SMALL_INT BUILD_LIST BUILD_MAP BUILD_SET BUILD_STRING LIST_EXTEND SET_UPDATE COMPARE_OP".split()
)
_OF_310 = {
    "INPLACE_ADD": "+=", "INPLACE_MULTIPLY": "*=", "INPLACE_OR": "|=", "INPLACE_AND": "&=", "INPLACE_SUBTRACT": "-=",
    "INPLACE_XOR": "^=", "INPLACE_TRUE_DIVIDE": "/=", "INPLACE_FLOOR_DIVIDE": "//=", "INPLACE_MODULO": "%=",
    "INPLACE_POWER": "**=", "INPLACE_MATRIX_MULTIPLY": "@=", "INPLACE_LSHIFT": "<<=", "INPLACE_RSHIFT": ">>=",
}  # fmt: skip


def _constant(lines: Sequence[dis.Instruction], at: int) -> Any:
    """The constant on top of the stack before an instruction; `_MISSING` where another way may put something else."""
    before = lines[at - 1] if at else None
    if before is None or lines[at].is_jump_target or not before.opname.startswith(("LOAD_CONST", "LOAD_SMALL_INT")):
        return _MISSING
    return before.argval


def _key(lines: Sequence[dis.Instruction], at: int) -> frozenset[Any] | None:
    """The key of a subscript, where it is a constant; None for any other."""
    found = _constant(lines, _begun(lines, at))
    return None if found is _MISSING else frozenset((found,))


def _is_of_new(receivers: Receivers, at: int) -> bool:
    """Whether an instruction sets or deletes an item of what the code itself made."""
    return receivers.is_new(_begun(receivers.lines, at), 2 if receivers.lines[at].opname == "STORE_SLICE" else 1)


def _begun(lines: Sequence[dis.Instruction], at: int) -> int:
    """Where the thing and the key of a subscript lie on top of the stack, also of one in ``a[key] += b``."""
    if lines[at - 1].opname in ("SWAP", "ROT_THREE"):
        return next((begun for begun in range(at, 1, -1) if _begins(lines, begun)), at)
    return next((before for before in (at - 1, at - 2) if before > 0 and _begins(lines, before)), at)


def _begins(lines: Sequence[dis.Instruction], at: int) -> bool:
    """Whether an operation in place on a subscript begins here: the thing and its key are needed twice."""
    names = [line.opname for line in lines[at : at + 3]]
    twice = names == ["COPY", "COPY", "BINARY_SUBSCR"] and lines[at].arg == lines[at + 1].arg == 2
    return twice or names[:2] == ["DUP_TOP_TWO", "BINARY_SUBSCR"]
