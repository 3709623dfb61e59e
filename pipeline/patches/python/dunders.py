"""What stands for a plain number or text whose operator is looked up as a method: `(3).__eq__`, `int.__lt__`.

Such a method looks at the type of its argument in C, where no stand-in is met, and gives `NotImplemented` for one; an
expression would try the method of the other operand then. Where a recorded function looks up such a method, it gets one
that tries both.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ...proxies.base import is_traced
from .operations import HandedOver, active

_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
_KINDS = (int, float, bool, complex, str)


def _reversed(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda value, other: function(other, value)


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    **{f"__{name}__": getattr(operator, name) for name in (*_COMPARISONS, *_ARITHMETIC)},
    **{f"__r{name}__": _reversed(getattr(operator, name)) for name in _ARITHMETIC},
}


class _Plain:
    """Stands for a number, a text, or their class, whose operator is looked up."""

    def __init__(self, plain: Any) -> None:
        self._plain = plain

    def _operator(self, name: str) -> Callable[..., Any]:
        method = getattr(self._plain, name)

        def call(*operands: Any) -> Any:
            both = operands if isinstance(self._plain, type) else (self._plain, *operands)
            return _OPERATORS[name](*both) if len(both) == 2 and any(map(is_traced, both)) else method(*operands)

        return call


def _looked_up(name: str) -> property:
    return property(lambda self: self._operator(name))


for _name in _OPERATORS:
    setattr(_Plain, _name, _looked_up(_name))


def _receiver(name: str) -> Callable[[Any], Any]:
    def receiver(thing: Any) -> Any:
        asked = thing if isinstance(thing, type) else type(thing)
        return _Plain(thing) if active() is not None and asked in _KINDS and hasattr(thing, name) else thing

    return receiver


OPERATORS = {name: HandedOver(_receiver(name)) for name in _OPERATORS}
"""What gives the receiver, by the name of the method."""
