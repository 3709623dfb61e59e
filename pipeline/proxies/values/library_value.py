"""What stand-ins for values of classes of Python's library have in common: they are asked, and never leave."""

from __future__ import annotations

from typing import Any

from ....ops.graph.graph import Value
from ..base import Traced
from ..tracer import Tracer


class LibraryValue(Traced):
    """A value of a class of Python's library that is decided at run time.

    Attributes:
        operator: the family of its functions, an operator of the graph; asks: what to ask of it, for messages.
    """

    operator = ""
    asks = ""

    def __init__(self, tracer: Tracer, value: Value, concrete: Any, varies: bool) -> None:
        self._bind(tracer, value, concrete, varies)

    @property  # type: ignore[misc]  # mypy cannot follow the dynamic class
    def __class__(self) -> type:
        return type(self.concrete)

    def ask(self, name: str, *args: Any) -> Any:
        """Records a function of the family, with this value as its first argument."""
        return self.tracer.scalar(self.operator, name, self, *args)

    def converted(self, kind: type) -> Any:
        """As a bool, an int or a float."""
        return kind(self)

    def in_text(self, spec: Any, conversion: str) -> Any:
        """As an f-string has it."""
        raise NotImplementedError  # each class of values has its own

    def operand(self, other: Any) -> Any:
        """The other operand as the graph may hold it; NotImplemented where Python takes none such."""
        raise NotImplementedError  # as above

    def _pin(self, reason: str) -> Any:
        kind = type(self.concrete).__name__
        return self.tracer.refuse(f"a {kind} that is decided at run time cannot be followed: {reason}", self.asks)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        kind = type(self.concrete).__name__
        if not hasattr(self.concrete, name):
            raise AttributeError(f"{kind!r} object has no attribute {name!r}")
        return self.tracer.refuse(f"{kind}.{name} cannot be recorded", self.asks)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    __hash__ = Traced.__hash__


def _binary(name: str, reflected: bool) -> Any:
    def method(self: Any, other: Any) -> Any:
        other = self.operand(other)
        if other is NotImplemented:
            return other
        return self.tracer.scalar(self.operator, name, *((other, self) if reflected else (self, other)))

    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    setattr(LibraryValue, f"__{_name}__", _binary(_name, False))
    setattr(LibraryValue, f"__r{_name}__", _binary(_name, True))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(LibraryValue, f"__{_name}__", _binary(_name, False))
for _name in ("neg", "pos", "abs"):
    setattr(LibraryValue, f"__{_name}__", lambda self, name=_name: self.ask(name))
