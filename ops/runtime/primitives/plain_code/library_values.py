"""Decimal numbers, fractions, dates, digests, bytes and distributions in a block of plain Python: what it may do."""

from __future__ import annotations

import datetime
import decimal
import hashlib
import statistics
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from functools import partial
from statistics import NormalDist
from typing import Any

from ....graph.errors import GuardError
from ....graph.operators.names import CHECKSUMS, DIGESTS
from ..bounded import MOST_BITS, MOST_ITEMS, MOST_PLACES
from ..text.byte_codes import require_encoding
from ..values.dates import checked_format, dated
from ..values.decimals import CONTEXT, FLAGS, decimal_of
from .block_fractions import BlockFraction
from .one_run.block_refusals import refuse, within

_HASHES = {type(hashlib.new(name, usedforsecurity=False)): ("hexdigest", "digest") for name in DIGESTS}
_CALENDAR = type(datetime.date(2000, 1, 1).isocalendar())
_DATE = (
    "year",
    "month",
    "day",
    "weekday",
    "isoweekday",
    "isocalendar",
    "toordinal",
    "isoformat",
    "replace",
    "strftime",
)
_TIME = ("hour", "minute", "second", "microsecond", "isoformat", "replace", "strftime")
_SPAN = ("days", "seconds", "microseconds", "total_seconds")
_NORMAL = ("mean", "median", "mode", "stdev", "variance", "cdf", "pdf", "inv_cdf", "zscore", "overlap", "quantiles")
_LINE: Any = statistics.linear_regression([0, 1], [0, 1]).__class__
LOOKING: Mapping[type, tuple[str, ...]] = {
    Decimal: ("quantize", "to_integral_value", "normalize", "sqrt", "adjusted", "copy_abs", "ln", "log10", *FLAGS),
    BlockFraction: ("numerator", "denominator", "limit_denominator", "as_integer_ratio", "is_integer"),
    datetime.date: _DATE,
    datetime.datetime: (*_DATE, *_TIME, "date", "time", "timestamp"),
    datetime.time: _TIME,
    datetime.timedelta: _SPAN,
    _CALENDAR: ("week", "year", "weekday"),
    NormalDist: _NORMAL,
    _LINE: ("slope", "intercept"),
    **_HASHES,
}
"""Methods and fields by the exact type of their object."""
CHANGING: Mapping[type, tuple[str, ...]] = dict.fromkeys(_HASHES, ("update",))
"""Methods that change their object."""
OF_CLASSES: Mapping[type, tuple[str, ...]] = {
    int: ("from_bytes",),
    datetime.date: ("fromisoformat", "fromordinal"),
    datetime.datetime: ("fromisoformat", "strptime", "combine"),
    datetime.time: ("fromisoformat",),
    NormalDist: ("from_samples",),
}
"""Methods of classes."""
LIBRARY: Mapping[str, tuple[str, ...]] = {
    "datetime": ("date", "datetime", "time", "timedelta"),
    "decimal": ("Decimal", "InvalidOperation"),
    "fractions": ("Fraction",),
    "hashlib": DIGESTS,
    "zlib": CHECKSUMS,
}
"""Functions and classes of modules."""
DATES = (datetime.date, datetime.datetime, datetime.time, datetime.timedelta)
VALUES = (Decimal, Fraction, BlockFraction, *DATES)
"""The classes of values that have a text, and that are no part of a graph."""


def is_value(thing: Any) -> bool:
    """Whether a thing is such a value, without a time zone."""
    return type(thing) in VALUES and getattr(thing, "tzinfo", None) is None


def is_usual() -> bool:
    """Whether decimal numbers are reckoned as they are in a block."""
    now, parts = decimal.getcontext(), ("prec", "rounding", "Emin", "Emax", "capitals", "clamp", "traps")
    return all(getattr(now, each) == getattr(CONTEXT, each) for each in parts)


_CONTEXT = CONTEXT.copy()
_CONTEXT.Emin, _CONTEXT.Emax = -MOST_PLACES, MOST_PLACES


@contextmanager
def bounded_decimals() -> Iterator[None]:
    """What is reckoned inside has no large exponents.

    Raises:
        GuardError: a result had one, also where the code has caught an error of it.
    """
    with decimal.localcontext(_CONTEXT) as context:
        try:
            yield
        finally:
            if context.flags[decimal.Overflow] or context.flags[decimal.Subnormal]:
                raise GuardError("a decimal number has too large an exponent", expected=f"at most {MOST_PLACES}")


def made(value: Any = "0") -> Any:
    """``Decimal(value)``."""
    if isinstance(value, tuple | list):
        refuse("a block of plain Python makes a Decimal of a tuple", fix="Make it of a text.")
    if not isinstance(value, str | int | float | Decimal):
        raise TypeError(f"conversion from {type(value).__name__} to Decimal is not supported")
    return within(decimal_of, "make", value)


def text_of_value(value: Any, conversion: str, spec: str) -> str:
    """A value as an f-string has it."""
    if conversion:
        return format({"r": repr, "a": ascii}.get(conversion, str)(value), spec)
    if spec and type(value) is datetime.timedelta:
        raise TypeError("unsupported format string passed to datetime.timedelta.__format__")
    if isinstance(value, Fraction):
        return _text_of_fraction(value, spec)
    if type(value) is Decimal:
        return str(within(decimal_of, "format", value, spec)) if spec else str(value)
    return str(value) if not spec else str(value.strftime(_format(spec)))


def _text_of_fraction(value: Fraction, spec: str) -> str:
    if spec:
        refuse("a block of plain Python formats a Fraction", fix="Format a float of it: f'{float(fraction):.2f}'.")
    return str(value)


def _format(text: Any) -> Any:
    return within(checked_format, text)


def encoded(text: str, encoding: str = "utf-8", errors: str = "strict") -> bytes:
    """``text.encode``."""
    within(require_encoding, encoding, errors)
    if len(text) * 10 > MOST_ITEMS:
        refuse("the text of encode grows too large", got=len(text), expected=f"{MOST_ITEMS} bytes")
    return text.encode(encoding, errors)


def from_bytes(data: bytes, byteorder: str = "big", *, signed: bool = False) -> int:
    """``int.from_bytes``."""
    if type(data) is not bytes or len(data) * 8 > MOST_BITS:
        refuse("int.from_bytes takes few bytes", got=type(data).__name__, expected=f"at most {MOST_BITS // 8} bytes")
    return int.from_bytes(data, byteorder, signed=signed)  # type: ignore[arg-type]  # Python's own error


def _digest(name: str) -> Callable[..., Any]:
    def call(data: bytes = b"", *, usedforsecurity: bool = True) -> Any:
        return hashlib.new(name, _bytes(data), usedforsecurity=False)

    return call


def _checksum(name: str) -> Callable[..., int]:
    return lambda data, *value: getattr(zlib, name)(_bytes(data), *value)


def _bytes(data: Any) -> bytes:
    if type(data) is not bytes:
        raise TypeError(f"a bytes-like object is required, not {type(data).__name__!r}")
    return data


def _read(text: Any, form: Any) -> Any:
    return datetime.datetime.strptime(text, _format(form))


CLASS_METHODS: Mapping[tuple[type, str], Callable[..., Any]] = {
    (int, "from_bytes"): from_bytes,
    (datetime.datetime, "strptime"): _read,
}
"""What methods of classes go to that are not Python's own."""
FUNCTIONS: Mapping[tuple[str, str], Any] = {
    **{("hashlib", name): _digest(name) for name in DIGESTS},
    **{("zlib", name): _checksum(name) for name in CHECKSUMS},
    ("decimal", "Decimal"): made,
    ("fractions", "Fraction"): BlockFraction,
    ("statistics", "NormalDist"): NormalDist,
    ("statistics", "StatisticsError"): statistics.StatisticsError,
}
"""The same of functions of modules."""


def _formatted_date(date: Any) -> Callable[..., str]:
    return lambda form: date.strftime(_format(form))


METHODS: Mapping[tuple[type, str], Callable[[Any], Any]] = {
    **{(kind, "strftime"): _formatted_date for kind in (datetime.date, datetime.datetime, datetime.time)},
    (datetime.datetime, "timestamp"): lambda date: partial(within, dated, "timestamp", date),
    (str, "encode"): lambda text: partial(encoded, text),
}
"""The same of methods."""
