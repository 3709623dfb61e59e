"""Traced dicts: what a pipeline makes at run time, with keys that nobody knows before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...ops.graph.graph import Value
from .base import Traced
from .lists import CHANGE, Growing, TracedList
from .tracer import Tracer


class TracedDict(Growing, Traced):
    """A dict whose keys are decided at run time.

    Attributes:
        missing: gives the entry of a key that it lacks, as for defaultdict; None where there is none.
    """

    missing: Callable[[], Any] | None = None

    def __init__(self, tracer: Tracer, value: Value, concrete: dict[Any, Any], varies: bool) -> None:
        self._bind(tracer, value, concrete, varies)

    @property  # type: ignore[misc]  # mypy cannot follow the dynamic class
    def __class__(self) -> type:
        return dict

    def __getitem__(self, key: Any) -> Any:
        if self.loop is None:
            return self.tracer.scalar("getitem", self, key)
        if self.missing is not None:
            return self.setdefault(key, self.missing())
        return self._entry(key, self._asked(key).tracer.scalar("getitem", self._asked(key), key))

    def _asked(self, key: Any) -> TracedDict:
        """The same dict, with an entry for a key that no round of the example has given it yet."""
        entries, asked = list(self.concrete.values()), self.tracer.concrete(key)
        if asked in self.concrete or not entries:
            return self
        return self.like(self.value, {**self.concrete, asked: entries[-1]})

    def _entry(self, key: Any, found: Any) -> Any:
        """What is found under a key; a list knows where it belongs."""
        return TracedEntry(self, key, found) if type(found) is TracedList else found

    def like(self, value: Value, concrete: dict[Any, Any]) -> TracedDict:
        """A dict of the same kind for another value."""
        found = type(self)(self.tracer, value, concrete, True)
        found.missing = self.missing
        return found

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """As for dict, with a default of the kind that the entries have."""
        self._allow_change("dict")
        if default is None:
            return self.tracer.refuse("dict.setdefault without a default gives None", "Give a default.")
        found = self.tracer.scalar("lookup", self, key, default)
        self[key] = found
        return self._entry(key, found)

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
        if default is None:
            return self.tracer.refuse("dict.get without a default gives None or an entry", "Give a default.")
        return self.tracer.scalar("lookup", self, key, default)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(dict, name):
            raise AttributeError(f"'dict' object has no attribute {name!r}")
        return self.tracer.refuse(f"dict.{name} on a dict with keys of run time cannot be recorded", CHANGE)

    def __eq__(self, other: object) -> Any:
        if type(other) not in (dict, type(self)):
            return self._refuse_comparison() if isinstance(other, Mapping) else NotImplemented
        return self.tracer.scalar("eq", self, other)

    def _refuse_comparison(self) -> Any:
        return self.tracer.refuse("a dict with keys of run time is compared with another kind", "Compare with a dict.")

    def __setitem__(self, key: Any, item: Any) -> None:
        tracer = self.tracer
        if self.loop is None:
            tracer.refuse("a dict with keys of run time cannot be changed", "Build it in one dict comprehension.")
        self._allow_change("dict")
        new = tracer.scalar("with_entry", self, key, item)
        self._bind(tracer, new.value, new.concrete, new.varies)

    __hash__ = None  # type: ignore[assignment]  # as for dict


class TracedEntry(TracedList):
    """A list in a dict with keys of run time: where it grows, the dict becomes another one.

    Args:
        owner: the dict.
        key: under which the list is.
        items: the list.
    """

    def __init__(self, owner: TracedDict, key: Any, items: TracedList) -> None:
        super().__init__(owner.tracer, items.value, items.concrete, items.varies)
        self.owner, self.key, self.seen, self.loop = owner, key, owner.value, owner.loop

    def _changed(self, name: str, *args: Any, **options: Any) -> None:
        if self.owner.value is not self.seen:
            self.tracer.refuse("a list in a dict is changed after the dict", CHANGE)
        super()._changed(name, *args, **options)
        self.owner[self.key] = TracedList(self.tracer, self.value, self.concrete, self.varies)
        self.seen = self.owner.value


Mapping.register(TracedDict)  # which `match` asks for where a case is a dict: nothing shows it another class
