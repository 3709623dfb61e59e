"""What stands for a plain number or text whose operator is looked up as a method: `(3).__eq__`, `int.__lt__`.

Such a method looks at the type of its argument in C, where no stand-in is met, and gives `NotImplemented` for one; an
expression would try the method of the other operand then. Where a recorded function looks up such a method, it gets one
that tries both.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FunctionType, MethodWrapperType, WrapperDescriptorType
from typing import Any

from ....ops.graph.errors import RecordError
from ....ops.runtime.user_code import first_line
from ...proxies.base import is_traced
from .operations import HandedOver, active

_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "xor", "lshift", "rshift")
_KINDS = (int, float, bool, complex, str)


def _reversed(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda value, other: function(other, value)


_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    **{name: getattr(operator, name) for name in _ARITHMETIC},
    "and": operator.and_,
    "or": operator.or_,
    "divmod": lambda one, other: (one // other, one % other),
}
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    **{f"__{name}__": getattr(operator, name) for name in _COMPARISONS},
    **{f"__{name}__": function for name, function in _BINARY.items()},
    **{f"__r{name}__": _reversed(function) for name, function in _BINARY.items()},
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


def _is_plain(asked: type, name: str) -> bool:
    """Whether a class has an operator from the class of plain numbers or texts."""
    return any(getattr(asked, name) is getattr(kind, name, None) for kind in asked.__mro__ if kind in _KINDS)


def _receiver(name: str) -> Callable[[Any], Any]:
    def receiver(thing: Any) -> Any:
        asked = thing if isinstance(thing, type) else type(thing)
        plain = active() is not None and hasattr(asked, name) and _is_plain(asked, name)
        return _Plain(thing) if plain else thing

    return receiver


OPERATORS = {name: HandedOver(_receiver(name)) for name in _OPERATORS}
"""What gives the receiver, by the name of the method."""


def operator_of(thing: Any, name: Any, default: Any) -> Any:
    """What `getattr` gives for an operator."""
    return getattr(OPERATORS[name].function(thing), name, *default)


def looks_up_operators(code: CodeType) -> bool:
    """Whether some code names an operator as a method."""
    return any(name in OPERATORS for name in code.co_names) or any(
        looks_up_operators(each) for each in code.co_consts if isinstance(each, CodeType)
    )


_BY_TEXT = ("attrgetter", "methodcaller", "__getattribute__")


def refuse_kept_operators(functions: Iterable[FunctionType]) -> None:
    """Refuses functions that look up an operator by a text, or were given one of a plain number or text.

    Raises:
        RecordError: there is such a function.
    """
    for function in functions:
        name = next(_kept_operators(function), None)
        if name is not None:
            raise RecordError(
                f"an operator of a plain number or text, {name}, is called as a function, which sees no stand-in",
                where=str(first_line(function) or ""),
                fix="Write the operator, as in 3 < n, or a lambda around it.",
            )


def _kept_operators(function: FunctionType) -> Iterator[str]:
    code = function.__code__
    cells = [_held(cell) for cell in function.__closure__ or ()]
    held = [*(function.__globals__.get(name) for name in code.co_names), *cells, *(function.__defaults__ or ())]
    for thing in [*held, *(part for each in held for part in _parts(each))]:
        if issubclass(type(thing), MethodWrapperType | WrapperDescriptorType) and thing.__name__ in OPERATORS:
            asked = thing.__objclass__ if isinstance(thing, WrapperDescriptorType) else type(thing.__self__)
            if _is_plain(asked, thing.__name__):
                yield thing.__name__
    if any(name in _BY_TEXT for name in code.co_names):
        yield from (each for each in code.co_consts if isinstance(each, str) and each in OPERATORS)


def _parts(thing: Any) -> Iterable[Any]:
    return list(thing.values()) if type(thing) is dict else thing if type(thing) in (list, tuple) else ()


def _held(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it is empty yet
        return None
