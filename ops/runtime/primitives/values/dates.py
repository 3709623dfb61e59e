"""The operator on dates: what the classes of `datetime` do, by names of a closed list.

A date is an object of Python's own in a run; it is made of texts and numbers, and what leaves a pipeline are texts and
numbers again. What hangs on the clock or the time zone of the machine is not on the list.
"""

from __future__ import annotations

import datetime
import operator
import re
from collections.abc import Callable
from typing import Any

from ....graph.errors import GuardError

KINDS: dict[str, type] = {
    "datetime": datetime.datetime,
    "date": datetime.date,
    "time": datetime.time,
    "timedelta": datetime.timedelta,
}
"""The classes by their names."""
FIELDS = (
    "year", "month", "day", "hour", "minute", "second", "microsecond", "days", "seconds", "microseconds",
)  # fmt: skip
"""Attributes that are numbers."""
NUMBERS = ("weekday", "isoweekday", "toordinal", "total_seconds")
"""Methods without arguments that give numbers."""
PARTS = ("date", "time")
"""Methods without arguments that give dates."""
BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "eq", "ne", "lt", "le", "gt", "ge")
"""Operators of two operands."""
UNARY = ("neg", "pos", "abs")

_MOST_CHARACTERS = 1000
_FORMAT = re.compile(r"(?:[^%\0]|%[-_0^#]?[A-Za-z%])*")
"""A width, as C's strftime takes it, would make a text of any length."""
_OF_MACHINE = re.compile(r"%[-_0^#]?[sZ]")


def _text(thing: Any, what: str) -> str:
    if not isinstance(thing, str) or len(thing) > _MOST_CHARACTERS:
        raise GuardError(f"{what} takes a str", got=type(thing).__name__, expected=f"{_MOST_CHARACTERS} characters")
    return thing


def checked_format(text: Any) -> str:
    """A format of dates, which makes short texts and asks nothing of the machine.

    Raises:
        GuardError: it is another one.
    """
    found = _text(text, "a format of a date")
    if not _FORMAT.fullmatch(found) or _OF_MACHINE.search(found):
        raise GuardError("a format of a date cannot be used", got=repr(found)[:80], expected="no width, %s or %Z")
    return found


def _kind(name: Any) -> Any:
    if name not in KINDS:
        raise GuardError("there is no such kind of date", got=repr(name)[:80], expected=", ".join(KINDS))
    return KINDS[name]


def _date(thing: Any, *kinds: type) -> Any:
    """A date, of one of some classes; any other thing is refused as Python does."""
    if not isinstance(thing, kinds or tuple(KINDS.values())):
        raise GuardError("a date is taken", got=type(thing).__name__, expected="what the recording had")
    return thing


def _read(text: Any, form: Any) -> Any:
    return datetime.datetime.strptime(_text(text, "strptime"), checked_format(form))


def _from_iso(kind: Any, text: Any) -> Any:
    return _kind(kind).fromisoformat(_text(text, "fromisoformat"))


def _made(kind: Any, *numbers: Any) -> Any:
    if not all(isinstance(each, int | float) for each in numbers):
        raise GuardError("a date is made of numbers", got=", ".join(type(each).__name__ for each in numbers))
    return _kind(kind)(*numbers)


def _from_timestamp(seconds: Any) -> Any:
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)


def _from_ordinal(kind: Any, number: Any) -> Any:
    return _kind(kind).fromordinal(number)


def _get(date: Any, name: Any) -> Any:
    if name not in FIELDS:
        raise GuardError("a date has no such field", got=repr(name)[:80], expected=", ".join(FIELDS))
    return getattr(_date(date), name)


def _iso_calendar(date: Any, place: Any) -> int:
    found: int = _date(date, datetime.date).isocalendar()[place]
    return found


def _timestamp(date: Any) -> float:
    if _date(date, datetime.datetime).utcoffset() is None:
        raise GuardError("timestamp of a date without a time zone hangs on the machine", expected="a time zone")
    found: float = date.timestamp()
    return found


def _replaced(date: Any, names: Any, *numbers: Any) -> Any:
    _date(date, datetime.date, datetime.time)
    return date.replace(**dict(zip(_text(names, "replace").split(), numbers, strict=True)))


def _with_zone(zone: datetime.tzinfo | None) -> Callable[[Any], Any]:
    return lambda date: _date(date, datetime.datetime, datetime.time).replace(tzinfo=zone)


def _of_method(name: str) -> Callable[[Any], Any]:
    return lambda date: getattr(_date(date), name)()


def _of_two(name: str) -> Callable[[Any, Any], Any]:
    plain = getattr(operator, name)

    def call(one: Any, other: Any) -> Any:
        for each in (one, other):
            _date(each, int, float, *KINDS.values())
        return plain(one, other)

    return call


def _of_one(name: str) -> Callable[[Any], Any]:
    plain = getattr(operator, name)
    return lambda span: plain(_date(span, datetime.timedelta))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "strptime": _read, "fromisoformat": _from_iso, "make": _made, "fromtimestamp": _from_timestamp,
    "fromordinal": _from_ordinal, "get": _get, "isocalendar": _iso_calendar, "timestamp": _timestamp,
    "replace": _replaced, "in_utc": _with_zone(datetime.timezone.utc), "without_zone": _with_zone(None),
    "has_no_zone": lambda date: _date(date, datetime.datetime, datetime.time).tzinfo is None,
    "str": lambda date: str(_date(date)),
    "strftime": lambda date, form: _date(date).strftime(checked_format(form)),
    "isoformat": lambda date, *args: _date(date).isoformat(*args),
    **{name: _of_method(name) for name in (*NUMBERS, *PARTS)},
    **{name: _of_two(name) for name in BINARY}, **{name: _of_one(name) for name in UNARY},
}  # fmt: skip


def dated(name: str, *args: Any) -> Any:
    """``py.date``: a function of dates by its name."""
    if name not in _FUNCTIONS:
        raise GuardError("there is no such function of dates", got=repr(name)[:80])
    return _FUNCTIONS[name](*args)
