"""Stand-ins for a set and for a Counter that a pipeline makes at run time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, KeysView, Mapping, Set
from typing import Any, NoReturn

from .base import is_traced
from .dicts import TracedDict
from .lists import TracedList
from .strings import TracedStr
from .tracer import Tracer
from .values.changing import Growing

UNORDERED = "the order of a set cannot be recorded"
_ORDER = "Use sorted(…), len(…) or `in`; dict.fromkeys(items) drops repeats and keeps the order."


def _of_sets(name: str) -> Callable[[Any, Any], Any]:
    """An operator of sets, which takes no other container."""

    def operator(one: Any, other: Any) -> Any:
        return getattr(one, name)(other) if type(other) in _SETS else NotImplemented

    return operator


def _in_place(name: str) -> Callable[[Any, Any], Any]:
    """Such an operator that changes a set, which is another value then."""

    def operator(one: Any, other: Any) -> Any:
        one.refuse_known("set")
        return getattr(one, name)(other) if type(other) in _SETS else NotImplemented

    return operator


def _items(given: Any) -> Any:
    """The items of a container in a list."""
    if type(given) is TracedSet:
        return given.items
    if issubclass(type(given), TracedDict):
        return given.keys()
    if is_traced(given):
        return given
    return sorted(given, key=repr) if isinstance(given, set | frozenset) else list(given)


class TracedSet(Growing):
    """A set of run-time values: a list of them without repeats, whose order nobody may see.

    Attributes:
        table: a dict with the items as keys, for a set that a loop fills: it is asked in constant time; else None.
    """

    def __init__(self, tracer: Tracer, items: TracedList | None, table: TracedDict | None = None) -> None:
        self.tracer, self.table, self._items = tracer, table, items

    @property
    def items(self) -> TracedList:
        """The items in a list."""
        if self._items is None:
            self._items = self.tracer.scalar("keys", self.table)
        return self._items

    def _hold(self, items: TracedList | None, table: TracedDict | None = None) -> None:
        self._items, self.table = items, table
        if self.place is not None:
            self.place.put(self.items)

    @property  # type: ignore[misc]  # mypy cannot follow the dynamic class
    def __class__(self) -> type:
        return set

    def length(self) -> Any:
        """How many there are, traced."""
        return self.tracer.scalar("len", self.table) if self.table is not None else self.items.length()

    def __len__(self) -> int:
        return len(self.items)

    def __bool__(self) -> bool:
        return bool(self.items)

    def __contains__(self, item: Any) -> bool:
        return item in self.items

    # -- other sets --------------------------------------------------------------------------------------------

    def _made(self, name: str, *lists: Any) -> TracedSet:
        return TracedSet(self.tracer, self.tracer.scalar(name, *lists))

    def union(self, *others: Any) -> Any:
        """As for set."""
        items: Any = self.items
        for other in others:
            items = self.tracer.scalar("cat_strings", items, _items(other))
        return self._made("unique", items)

    def intersection(self, *others: Any) -> Any:
        """As for set."""
        return self._among("kept", others)

    def difference(self, *others: Any) -> Any:
        """As for set."""
        return self._among("dropped", others)

    def _among(self, name: str, others: tuple[Any, ...]) -> TracedSet:
        found = self._made("list", self.items)
        for other in others:
            found = self._made(name, found.items, _items(other))
        return found

    def issubset(self, other: Any) -> Any:
        """As for set."""
        return self.difference(other).length() == 0

    def issuperset(self, other: Any) -> Any:
        """As for set."""
        return self._made("dropped", _items(other), self.items).length() == 0

    def isdisjoint(self, other: Any) -> Any:
        """As for set."""
        return self.intersection(other).length() == 0

    def __rsub__(self, other: Any) -> Any:
        return self._made("dropped", _items(other), self.items)

    def __eq__(self, other: object) -> Any:
        other = set(other) if isinstance(other, KeysView) else other
        if type(other) not in _SETS:
            return self._refuse_comparison() if isinstance(other, Set) else NotImplemented
        count = other.length() if type(other) is TracedSet else len(other)  # type: ignore[arg-type]  # one of the three
        pair = self.tracer.scalar("list", [self.length(), (self & other).length()])
        return self.tracer.scalar("eq", pair, self.tracer.scalar("list", [count, count]))

    def _refuse_comparison(self) -> Any:  # Python would fall back on identity
        return self.tracer.refuse("a set of run time is compared with another kind", "Compare with a set: set(other).")

    __or__, __ror__ = _of_sets("union"), _of_sets("union")
    __and__, __rand__ = _of_sets("intersection"), _of_sets("intersection")
    __ior__, __iand__, __isub__ = map(_in_place, ("union", "intersection", "difference"))
    __sub__, __le__, __ge__ = _of_sets("difference"), _of_sets("issubset"), _of_sets("issuperset")

    # -- changes -----------------------------------------------------------------------------------------------

    def add(self, item: Any) -> None:
        """As for set, in code that may change it."""
        if self.table is not None and self.loop is not None:
            self.allow_change("set")
            self._hold(None, self.tracer.scalar("with_entry", self.table, item, True))
            return
        new = self.tracer.scalar("not_", self.tracer.scalar("contains", self.items, item))
        self._become(self._appended, self.tracer.scalar("mul", [item], new))

    def _appended(self, items: Any) -> TracedSet:
        return self._made("cat_strings", self.items, items)

    def update(self, *others: Any) -> None:
        """As for set, in code that may change it."""
        self._become(self.union, *others)

    def discard(self, item: Any) -> None:
        """As for set, in code that may change it."""
        self._become(self.difference, [item])

    def _become(self, change: Callable[..., TracedSet], *given: Any) -> None:
        if self.loop is None:
            self.tracer.refuse("a set of run time cannot be changed", _ORDER)
        self.allow_change("set")
        self._hold(change(*given).items)

    def __iter__(self) -> Iterator[Any]:
        return self._refuse()

    def _refuse(self) -> NoReturn:
        self.tracer.refuse(f"{UNORDERED}: Python's differs from run to run", _ORDER)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(set, name):
            raise AttributeError(f"'set' object has no attribute {name!r}")
        return self.tracer.refuse(f"set.{name} on a set of run time cannot be recorded", _ORDER)

    __hash__ = None  # type: ignore[assignment]  # as for set


_SETS = (set, frozenset, TracedSet)


class TracedCounter(TracedDict):
    """A Counter of run-time values: a dict of each of them and how often it is there.

    Attributes:
        tallied: gives a Counter with the items of a list, too, or with the counts of another one.
    """

    tallied: Callable[[Any, Any], Any]

    @property  # type: ignore[misc]  # mypy cannot follow the dynamic class
    def __class__(self) -> type:
        return Counter

    def __eq__(self, other: object) -> Any:
        return self._refuse_comparison() if isinstance(other, Mapping) else NotImplemented

    __hash__ = None

    def __getitem__(self, key: Any) -> Any:
        return self.tracer.scalar("lookup", self, key, 0)  # which puts nothing in, as a defaultdict does

    def update(self, other: Any = (), /, **named: Any) -> None:
        """As for Counter, with items that are known one by one, or with a list of any length."""
        if type(other) is TracedStr:
            other = self.tracer.scalar("list", other)
        if (
            self.loop is not None
            and not named
            and (type(other) is TracedList or issubclass(type(other), TracedCounter))
        ):
            self.allow_change("dict")
            self._become(self.tallied(self, other))
            return
        if named or is_traced(other) or isinstance(other, dict):
            what = "Counter.update by a dict of run time cannot be recorded"
            self.tracer.refuse(what, "Write for item in items: counter[item] += 1.")
        for item in other:
            self[item] = self[item] + 1

    def most_common(self, n: Any = None) -> Any:
        """As for Counter."""
        return self.tracer.scalar("most_common", self, n)

    def total(self) -> Any:
        """As for Counter."""
        return self.tracer.scalar("total", self.values())


# -- plain containers ----------------------------------------------------------------------------------------------


def items_of(tracer: Tracer, found: Any) -> Any:
    """The items of a set in a list of the graph."""
    return found.items if type(found) is TracedSet else tracer.scalar("list", _items(found))


def table_of(tracer: Tracer, found: Any) -> Any:
    """A dict of the graph with the items of a set as its keys."""
    if type(found) is TracedSet and found.table is not None:
        return found.table
    return tracer.scalar("from_keys", items_of(tracer, found), True)


def dict_of(tracer: Tracer, found: Any) -> Any:
    """The stand-in for a dict that a loop fills."""
    if is_traced(found):
        return found
    made = tracer.scalar("dict", list(found), list(found.values()))
    if type(found) is Counter:
        return TracedCounter(tracer, made.value, made.concrete, made.varies)
    made.missing = getattr(found, "default_factory", None)
    return made


def growable(tracer: Tracer, found: Any) -> Any:
    """A stand-in for a set or a dict that the code which runs now may change; anything else as it is."""
    if isinstance(found, set):
        return TracedSet(tracer, items_of(tracer, found)).grow()
    return dict_of(tracer, found).grow() if isinstance(found, dict) else found


def _alike(pattern: Any, found: Any) -> Any:
    """An entry of a dict as what a pattern is: a set, a Counter, or a dict that makes entries."""
    if isinstance(pattern, set) and type(found) is TracedList:
        return TracedSet(found.tracer, found)
    if not isinstance(pattern, dict) or type(found) is not TracedDict:
        return found
    if type(pattern) is Counter:
        return TracedCounter(found.tracer, found.value, found.concrete, found.varies)
    found.missing = getattr(pattern, "default_factory", None)
    return found


TracedDict.alike, TracedDict.listed = staticmethod(_alike), staticmethod(_items)
