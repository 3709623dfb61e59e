"""Traced dicts: what a pipeline makes at run time, with keys that nobody knows before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...ops.graph.graph import Value
from .base import Traced, is_traced
from .tracer import Tracer
from .values.changing import Growing, PlaceOfEntry

RUN_KEYS = "a dict with keys of run time cannot be"
_JOIN = "Write table = dict([*table.items(), (key, value)]), or table = dict([*table.items(), *other.items()])."
_FORMS = {"pop": "Write value = table[key], and table = {k: v for k, v in table.items() if k != key}."}


class TracedDict(Growing, Traced):
    """A dict whose keys are decided at run time.

    Attributes:
        missing: gives the entry of a key that it lacks, as for defaultdict; None where there is none.
        patterns: an entry that the code put in, where that is a set or a dict, in all ways through a loop.
        samples: what was put into its entries that are dicts, in all ways through a loop.
        alike: makes an entry what a pattern is; listed: makes a list of a set.
        pairs: the keys and entries, where they are known one by one; else None.
        with_none: whether an entry, or what it holds, may be None as data decides.
    """

    missing: Callable[[], Any] | None = None
    alike: Callable[[Any, Any], Any]
    listed: Callable[[Any], Any]
    pairs: list[tuple[Any, Any]] | None = None
    with_none = False

    def __init__(self, tracer: Tracer, value: Value, concrete: dict[Any, Any], varies: bool) -> None:
        self._bind(tracer, value, concrete, varies)
        self.patterns: list[Any] = []
        self.samples: list[Any] = []

    @property  # type: ignore[misc]  # mypy cannot follow the dynamic class
    def __class__(self) -> type:
        return dict

    def __getitem__(self, key: Any) -> Any:
        if self.loop is None:
            return self._as_put(self.tracer.scalar("getitem", self, key))
        if self.missing is not None:
            return self.setdefault(key, self.missing())
        return self._entry(key, self._as_put(self.tracer.scalar("getitem", self._asked(key), key)))

    def _asked(self, key: Any) -> TracedDict:
        """The same dict, with an entry for a key that no round of the example has given it yet."""
        entries, asked = list(self.concrete.values()), self.tracer.concrete(key)
        if not entries and isinstance(self.place, PlaceOfEntry):  # a way that no item takes may ask an empty entry
            entries = self.place.owner.samples
        if asked in self.concrete or not entries:
            return self
        return self.like(self.value, {**self.concrete, asked: entries[-1]})

    def _entry(self, key: Any, found: Any) -> Any:
        """What is found under a key; a container knows where it belongs."""
        if isinstance(found, Growing):
            found.enter(self, key)
        return found

    def like(self, value: Value, concrete: dict[Any, Any]) -> TracedDict:
        """A dict of the same kind for another value."""
        found = type(self)(self.tracer, value, concrete, True)
        found.missing, found.patterns, found.samples = self.missing, self.patterns, self.samples
        found.with_none, found.shared = self.with_none, self.shared
        return found

    def _as_put(self, found: Any) -> Any:
        """An entry as the code put it in: a set, which the graph holds as a list, or a dict with its own entries."""
        if not self.patterns and self.missing is not None:
            self.patterns.append(self.missing())
        return self.alike(self.patterns[-1], found) if self.patterns else found

    def _held(self, entry: Any) -> Any:
        """An entry as the graph holds it."""
        if isinstance(entry, set | dict) and not is_traced(entry):
            self.patterns.append(entry)
        return self.listed(entry) if isinstance(entry, set) else entry

    def copy(self) -> TracedDict:
        """As for dict."""
        return TracedDict(self.tracer, self.value, self.concrete, self.varies)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """As for dict, with a default of the kind that the entries have."""
        self.allow_change("dict")
        if default is None:
            return self.tracer.refuse("dict.setdefault without a default gives None", "Give a default.")
        found = self.tracer.scalar("lookup", self, key, self._held(default))
        self[key] = found
        return self._entry(key, self._as_put(found))

    def update(self, other: Any = (), /, **named: Any) -> None:
        """As for dict."""
        self.allow_change("dict")
        pairs = other.pairs if issubclass(type(other), TracedDict) else None
        if pairs is None and is_traced(other):
            self._become(self._with(other))
        else:
            for key, item in pairs or _pairs(other):
                self[key] = item
        for key, item in named.items():
            self[key] = item

    def _with(self, other: Any) -> Any:
        """A dict with the entries of another one, too."""
        tracer, one = self.tracer, TracedDict(self.tracer, self.value, self.concrete, self.varies)
        lists = (other.keys(), other.values()) if is_traced(other) else (list(other), [*other.values()])
        both = zip((one.keys(), one.values()), lists, strict=True)
        return tracer.scalar("dict", *(tracer.scalar("cat_strings", *each) for each in both))

    def _become(self, new: TracedDict) -> None:
        """Makes the dict another one, in code that may change it."""
        self.pairs, self.with_none = None, new.with_none
        self._bind(self.tracer, new.value, new.concrete, new.varies)
        if self.place is not None:
            self.place.put(self.like(new.value, new.concrete))

    def __or__(self, other: Any) -> Any:
        return self._with(other) if isinstance(other, dict) else NotImplemented

    def __ror__(self, other: Any) -> Any:
        made: TracedDict = self.tracer.scalar("dict", list(other), [*other.values()])
        return made._with(self)

    def __ior__(self, other: Any) -> Any:
        self.refuse_known("dict")
        if self.loop is None:
            return self | other
        self.update(other)
        return self

    def __contains__(self, key: Any) -> bool:
        return bool(self.tracer.pin(self.tracer.scalar("contains", self, key), "it was searched"))

    def __len__(self) -> int:
        return int(self.tracer.pin(self.tracer.scalar("len", self), "the length of the dict was read"))

    def __bool__(self) -> bool:
        return bool(self.tracer.scalar("len", self) != 0)

    def __iter__(self) -> Any:
        return iter(self.keys())

    def keys(self) -> Any:
        """Its keys as a list."""
        return self._view("keys")

    def values(self) -> Any:
        """Its entries as a list."""
        return self._view("values")

    def items(self) -> Any:
        """Its keys and entries as a list of pairs."""
        return self._view("items")

    def _view(self, name: str) -> Any:
        found = self.tracer.scalar(name, self)
        found.view = True
        return found

    def get(self, key: Any, default: Any = None) -> Any:
        """As for dict, with a default of the kind that the entries have."""
        if default is not None or self.entry() is not None:
            return self.tracer.scalar("lookup", self, key, default)
        loops = self.tracer.rounds.open
        if self.loop is not None and not self.concrete and loops and loops[-1].may_guess():
            return None
        return self.tracer.refuse("dict.get without a default gives None or an entry", "Give a default.")

    def entry(self) -> Any:
        """A number or a text that one of its keys has on the example; None where its entries are other things."""
        kinds = {type(entry) for entry in self.concrete.values()} - {type(None)}
        known = len(kinds) == 1 and kinds <= {int, float, bool, str}
        return next(entry for entry in self.concrete.values() if entry is not None) if known else None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(dict, name):
            raise AttributeError(f"'dict' object has no attribute {name!r}")
        fix = _FORMS.get(name, _JOIN)
        return self.tracer.refuse(f"dict.{name} on {RUN_KEYS} recorded", fix)

    def __eq__(self, other: object) -> Any:
        if type(other) not in (dict, type(self)):
            return self._refuse_comparison() if isinstance(other, Mapping) else NotImplemented
        return self.tracer.scalar("eq", self, other)

    def _refuse_comparison(self) -> Any:
        return self.tracer.refuse("a dict with keys of run time is compared with another kind", "Compare with a dict.")

    def meet(self, entry: Any) -> None:
        """Keeps what a dict in it holds."""
        if isinstance(entry, TracedDict):
            self.samples += list(entry.concrete.values())[:1]

    def __setitem__(self, key: Any, item: Any) -> None:
        tracer = self.tracer
        if self.loop is None:
            tracer.refuse(
                f"{RUN_KEYS} changed", f"{_JOIN} For records: [{{**record, 'key': value}} for record in records]."
            )
        self.allow_change("dict")
        self._become(tracer.scalar("with_entry", self, key, self._held(item)))

    __hash__ = None  # type: ignore[assignment]  # as for dict


def _pairs(other: Any) -> Any:
    """The pairs of a dict, or of a list of them."""
    return other.items() if isinstance(other, dict) else other


Mapping.register(TracedDict)  # which `match` asks for where a case is a dict: nothing shows it another class
