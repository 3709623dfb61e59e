"""Traced strings: a text op takes them; any other use of their content becomes a guard on it."""

from __future__ import annotations

from typing import Any

from ...ops.graph.graph import Value
from .base import Traced
from .tracer import Tracer


class TracedStr(Traced):
    """A str that is decided at run time: a text op takes it; any other use guards its content."""

    def __init__(self, tracer: Tracer, value: Value, concrete: str, varies: bool) -> None:
        self._bind(tracer, value, concrete, varies)

    @property  # type: ignore[misc]  # mypy cannot follow the dynamic class
    def __class__(self) -> type:
        return str

    def __str__(self) -> str:
        return str(self._pin("it was read as a string"))

    def __eq__(self, other: object) -> bool:
        return bool(self._pin("it was compared") == (other.concrete if isinstance(other, TracedStr) else other))

    __hash__ = Traced.__hash__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._pin(f"its method {name!r} was called"), name)

    def __len__(self) -> int:
        return len(self._pin("its length was read"))

    def __iter__(self) -> Any:
        return iter(self._pin("it was iterated"))

    def __getitem__(self, index: Any) -> Any:
        return self._pin("it was indexed")[index]

    def __contains__(self, item: Any) -> bool:
        return item in self._pin("it was searched")

    def __add__(self, other: Any) -> Any:
        return self._pin("it was joined to another string") + other

    def __radd__(self, other: Any) -> Any:
        return other + self._pin("it was joined to another string")


class TracedStrings(Traced):
    """A list of str that is decided at run time, of any length until the length is read."""

    def __init__(self, tracer: Tracer, value: Value, concrete: list[str], varies: bool) -> None:
        self._bind(tracer, value, concrete, varies)

    @property  # type: ignore[misc]  # mypy cannot follow the dynamic class
    def __class__(self) -> type:
        return list

    def __len__(self) -> int:
        return int(self.tracer.pin(self.tracer.scalar("len", self), "the length of the list was read"))

    def __iter__(self) -> Any:
        return iter([self[i] for i in range(len(self))])

    def __getitem__(self, index: Any) -> Any:
        return self.tracer.scalar("getitem", self, index)

    def __add__(self, other: Any) -> Any:
        return self.tracer.scalar("cat_strings", self, other)

    def __radd__(self, other: Any) -> Any:
        return self.tracer.scalar("cat_strings", other, self)

    def __eq__(self, other: object) -> bool:
        # The other object may be of any class.
        return list(self) == list(other)  # type: ignore[call-overload, no-any-return]

    __hash__ = None  # type: ignore[assignment]  # meant: the name gets another kind here
