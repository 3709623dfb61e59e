"""The operator on decimal numbers: what `decimal.Decimal` does, by names of a closed list, in Python's default context.

No number has a large exponent, so that none becomes an integer or a text without end.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from ....graph.errors import GuardError
from ..bounded import MOST_ITEMS, MOST_PLACES, as_int, short

CONTEXT = decimal.Context(
    prec=28, rounding=decimal.ROUND_HALF_EVEN, Emin=-999999, Emax=999999, capitals=1, clamp=0, flags=[],
    traps=[decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow],
)  # fmt: skip
"""Python's default one."""
_MOST_CHARACTERS = 4300

BINARY = {
    "add": CONTEXT.add, "sub": CONTEXT.subtract, "mul": CONTEXT.multiply, "truediv": CONTEXT.divide,
    "floordiv": CONTEXT.divide_int, "mod": CONTEXT.remainder, "pow": CONTEXT.power,
}  # fmt: skip
"""Operators of two operands, which take integers, too."""
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
"""Comparisons, which take integers and floats, too."""
UNARY = {"neg": CONTEXT.minus, "pos": CONTEXT.plus, "abs": CONTEXT.abs, "sqrt": CONTEXT.sqrt,
         "normalize": CONTEXT.normalize}  # fmt: skip
"""Operators and methods of one operand that give a decimal number."""
FLAGS = ("is_nan", "is_zero", "is_signed", "is_finite", "is_infinite")
"""Methods that give whether something holds."""
ROUNDINGS = tuple(name for name in vars(decimal) if name.startswith("ROUND_"))


def _number(thing: Any) -> Decimal:
    """A decimal number, as Python takes one beside another."""
    if isinstance(thing, int):
        return _made(thing)
    return _own(thing)


def _own(thing: Any) -> Decimal:
    if not isinstance(thing, Decimal):
        raise GuardError("a decimal number is taken", got=type(thing).__name__, expected="what the recording had")
    return thing


def _made(thing: Any) -> Decimal:
    """``Decimal(thing)``."""
    if not isinstance(thing, str | int | float | Decimal) or (isinstance(thing, str) and len(thing) > _MOST_CHARACTERS):
        raise GuardError("Decimal takes a number or a short text", got=type(thing).__name__)
    with decimal.localcontext(CONTEXT):
        found: Decimal = short(Decimal(thing))
    return found


def _of_two(function: Callable[[Any, Any], Decimal]) -> Callable[[Any, Any], Decimal]:
    return lambda one, other: short(function(_number(one), _number(other)))


def _of_one(function: Callable[[Any], Decimal]) -> Callable[[Any], Decimal]:
    return lambda one: short(function(_own(one)))


def _comparison(name: str) -> Callable[[Any, Any], bool]:
    def call(one: Any, other: Any) -> bool:
        other = other if isinstance(other, float) else _number(other)
        with decimal.localcontext(CONTEXT):
            found: bool = getattr(_number(one), f"__{name}__")(other)
        return found

    return call


def _flag(name: str) -> Callable[[Any], bool]:
    return lambda number: bool(getattr(_own(number), name)())


def _rounding(name: Any) -> Any:
    if name is not None and name not in ROUNDINGS:
        raise GuardError("there is no such way to round", got=repr(name)[:80], expected=", ".join(ROUNDINGS))
    return name


def _quantized(number: Any, like: Any, rounding: Any = None) -> Decimal:
    return _own(number).quantize(_number(like), _rounding(rounding), CONTEXT)


def _whole(number: Any, rounding: Any = None) -> Decimal:
    return _own(number).to_integral_value(_rounding(rounding), CONTEXT)


def _rounded(number: Any, digits: Any = None) -> Any:
    places = as_int(digits)
    if places is not None and abs(places) > MOST_PLACES:
        raise GuardError("round has too many digits", got=digits, expected=f"at most {MOST_PLACES}")
    with decimal.localcontext(CONTEXT):
        return round(_own(number)) if places is None else round(_own(number), places)


def _formatted(number: Any, spec: Any) -> str:
    from ..text.texts import check_spec

    check_spec(spec)
    with decimal.localcontext(CONTEXT):
        found = format(_own(number), spec)
    if len(found) > MOST_ITEMS:
        raise GuardError("a text grows too large", got=len(found), expected=f"at most {MOST_ITEMS} characters")
    return found


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "make": _made, "quantize": _quantized, "to_integral_value": _whole, "round": _rounded, "format": _formatted,
    "str": lambda number: CONTEXT.to_sci_string(_own(number)), "repr": lambda number: f"Decimal('{_own(number)}')",
    "float": lambda number: float(_own(number)), "int": lambda number: int(_own(number)),
    **{name: _of_two(function) for name, function in BINARY.items()},
    **{name: _of_one(function) for name, function in UNARY.items()},
    **{name: _comparison(name) for name in COMPARISONS}, **{name: _flag(name) for name in FLAGS},
}  # fmt: skip


def decimal_of(name: str, *args: Any) -> Any:
    """``py.decimal``: a function of decimal numbers by its name."""
    if name not in _FUNCTIONS:
        raise GuardError("there is no such function of decimal numbers", got=repr(name)[:80])
    return _FUNCTIONS[name](*args)
