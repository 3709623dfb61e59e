"""Stand-ins for a set and for a Counter that a pipeline makes at run time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from .lists import TracedDict, TracedList
from .tracer import Tracer

_ORDER = "Use sorted(…), len(…) or `in`; dict.fromkeys(items) drops repeats and keeps the order."


class TracedSet:
    """A set of run-time values: a list of them without repeats, whose order nobody may see.

    Attributes:
        items: the list.
    """

    def __init__(self, tracer: Tracer, items: TracedList) -> None:
        self.tracer, self.items = tracer, items

    @property  # type: ignore[misc]  # mypy cannot follow the dynamic class
    def __class__(self) -> type:
        return set

    def length(self) -> Any:
        """How many there are, traced."""
        return self.items.length()

    def __len__(self) -> int:
        return len(self.items)

    def __bool__(self) -> bool:
        return bool(self.items)

    def __contains__(self, item: Any) -> bool:
        return item in self.items

    def __or__(self, other: Any) -> Any:
        more: Any = other.items if type(other) is TracedSet else None
        if more is None and type(other) not in (set, frozenset):
            return NotImplemented
        more = sorted(other, key=repr) if more is None else more
        return TracedSet(self.tracer, self.tracer.scalar("unique", self.tracer.scalar("cat_strings", self.items, more)))

    def __and__(self, other: Any) -> Any:
        return self._chosen("kept", other)

    def __sub__(self, other: Any) -> Any:
        return self._chosen("dropped", other)

    def _chosen(self, name: str, other: Any) -> Any:
        """The items that are in another set, or those that are not."""
        more: Any = other.items if type(other) is TracedSet else None
        if more is None and type(other) not in (set, frozenset):
            return NotImplemented
        more = sorted(other, key=repr) if more is None else more
        return TracedSet(self.tracer, self.tracer.scalar(name, self.items, more))

    def __eq__(self, other: object) -> Any:
        if type(other) not in (set, frozenset, TracedSet):
            return NotImplemented
        count = other.length() if type(other) is TracedSet else len(other)  # type: ignore[arg-type]  # one of the three above
        pair = self.tracer.scalar("list", [self.length(), (self & other).length()])
        return self.tracer.scalar("eq", pair, self.tracer.scalar("list", [count, count]))

    __ror__ = union = __or__
    __rand__ = intersection = __and__
    difference = __sub__

    def __iter__(self) -> Iterator[Any]:
        return self._refuse()

    def _refuse(self) -> NoReturn:
        self.tracer.refuse("the order of a set cannot be recorded: Python's differs from run to run", _ORDER)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(set, name):
            raise AttributeError(f"'set' object has no attribute {name!r}")
        return self.tracer.refuse(f"set.{name} on a set of run time cannot be recorded", _ORDER)

    __hash__ = None  # type: ignore[assignment]  # as for set


class TracedCounter(TracedDict):
    """A Counter of run-time values: a dict of each of them and how often it is there."""

    @property  # type: ignore[misc]  # mypy cannot follow the dynamic class
    def __class__(self) -> type:
        return Counter

    def __eq__(self, other: object) -> Any:
        return self._refuse_comparison() if isinstance(other, Mapping) else NotImplemented

    __hash__ = None

    def __getitem__(self, key: Any) -> Any:
        return self.tracer.scalar("lookup", self, key, 0)

    def most_common(self, n: Any = None) -> Any:
        """As for Counter."""
        return self.tracer.scalar("most_common", self, n)

    def total(self) -> Any:
        """As for Counter."""
        return self.tracer.scalar("total", self.values())
