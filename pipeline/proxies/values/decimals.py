"""Stand-ins for decimal numbers."""

from __future__ import annotations

import decimal
from decimal import Decimal
from functools import partial
from typing import Any

from ....ops.runtime.primitives.values.decimals import FLAGS, UNARY
from ..base import is_traced
from ..tracer import Tracer
from .library_value import LibraryValue

_KEPT = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp", "traps")


def constant_decimal(tracer: Tracer, number: Decimal) -> Any:
    """A decimal number from outside of the recording as a value of it."""
    return tracer.scalar("decimal", "make", str(number))


def require_default(tracer: Tracer) -> None:
    """Refuses a context of decimal numbers that is not Python's default one, which every run has."""
    ours, default = decimal.getcontext(), decimal.DefaultContext
    if any(getattr(ours, name) != getattr(default, name) for name in _KEPT):
        tracer.refuse(
            "the context of decimal numbers was changed",
            "Use Python's default one, and round by quantize where it has to.",
        )


class TracedDecimal(LibraryValue):
    """A decimal number that is decided at run time."""

    operator = "decimal"
    asks = "Ask what you need of it: str(number), float(number), int(number), number.quantize(Decimal('0.01'))."

    def ask(self, name: str, *args: Any) -> Any:
        """Records a function of decimal numbers."""
        require_default(self.tracer)
        return super().ask(name, *args)

    def operand(self, other: Any) -> Any:
        """The other operand as the graph may hold it."""
        require_default(self.tracer)
        if isinstance(other, Decimal) and not is_traced(other):
            return constant_decimal(self.tracer, other)
        kind = type(other.concrete) if is_traced(other) else type(other)
        return other if issubclass(kind, int | float | Decimal) else NotImplemented

    def converted(self, kind: type) -> Any:
        """As a bool, an int or a float."""
        return self.ask("ne", 0) if kind is bool else self.ask(kind.__name__)

    def in_text(self, spec: Any, conversion: str) -> Any:
        """As an f-string has it."""
        if conversion == "r":
            return self.ask("repr")
        if conversion:
            text = self.ask("str")
            return self.tracer.scalar("format", text, spec, "") if spec else text
        return self.ask("format", spec) if spec else self.ask("str")

    def quantize(self, exp: Any, rounding: Any = None) -> Any:
        """As for Decimal."""
        return self.ask("quantize", self.operand(exp), rounding)

    def to_integral_value(self, rounding: Any = None) -> Any:
        """As for Decimal."""
        return self.ask("to_integral_value", rounding)

    def __round__(self, *digits: Any) -> Any:
        return self.ask("round", *digits)

    def __getattr__(self, name: str) -> Any:
        if name in FLAGS or (name in UNARY and not name.startswith("_") and hasattr(Decimal, name)):
            return partial(self.ask, name)
        return super().__getattr__(name)

    def __bool__(self) -> bool:
        return bool(self.ask("ne", 0))

    def __float__(self) -> float:
        return float(self._pin("it was taken as a plain float"))

    def __int__(self) -> int:
        return int(self._pin("it was taken as a plain int"))
