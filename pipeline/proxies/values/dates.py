"""Stand-ins for dates, times and spans of time: made of texts and numbers, asked for texts and numbers."""

from __future__ import annotations

import datetime
from functools import partial
from typing import Any, NamedTuple

from ....ops.runtime.primitives.values.dates import FIELDS, NUMBERS, PARTS
from ..base import is_traced
from ..tracer import Tracer
from .library_value import LibraryValue
from .maybe import MaybeThing

_NUMBERS = (int, float, bool)
_REPLACED = ("year", "month", "day", "hour", "minute", "second", "microsecond")


def constant_date(tracer: Tracer, date: Any) -> Any:
    """A date from outside of the recording as a value of it."""
    if isinstance(date, datetime.timedelta):
        return tracer.scalar("date", "make", "timedelta", date.days, date.seconds, date.microseconds)
    require_plain_date(tracer, date)
    kind = next(kind for kind in _KINDS if isinstance(date, kind))
    return tracer.scalar("date", "fromisoformat", kind.__name__, date.isoformat())


def require_plain_date(tracer: Tracer, date: Any) -> None:
    """Refuses a date of which a text does not say all."""
    if not isinstance(getattr(date, "tzinfo", None), datetime.timezone | None):
        tracer.refuse("a date with a zone of a table of zones cannot be recorded", "Use date.astimezone(timezone.utc).")
    if getattr(date, "fold", 0):
        tracer.refuse("a date with a fold cannot be recorded", "Use date.replace(fold=0).")


_KINDS = (datetime.datetime, datetime.date, datetime.time)
DATES = (*_KINDS, datetime.timedelta)
"""The classes of dates."""


class IsoCalendarDate(NamedTuple):
    """What `isocalendar` gives: Python's own class cannot be made."""

    year: Any
    week: Any
    weekday: Any


class _Zone:
    """Stands for the zone of a date: code may only ask whether it has one."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def __getattr__(self, name: str) -> Any:
        return self._tracer.refuse("a zone of a date is asked for more than whether it is None", _IN_UTC)

    def __eq__(self, other: object) -> Any:
        return self._tracer.refuse("a zone of a date is compared", _IN_UTC)

    __hash__ = None  # type: ignore[assignment]  # it stands for many


_IN_UTC = "Write (date - datetime(1970, 1, 1, tzinfo=timezone.utc)).total_seconds() for what it is in UTC."


class TracedDate(LibraryValue):
    """A date, a time, or a span of time that is decided at run time."""

    operator = "date"
    asks = "Ask what you need of it: date.year, date.weekday(), span.days, date.isoformat() for a text."

    def operand(self, other: Any) -> Any:
        """The other operand as the graph may hold it."""
        if isinstance(other, DATES) and not is_traced(other):
            return constant_date(self.tracer, other)
        kind = type(other.concrete) if is_traced(other) else type(other)
        return other if issubclass(kind, (*_NUMBERS, *DATES)) else NotImplemented

    def converted(self, kind: type) -> Any:
        """As a bool; Python makes no number of a date."""
        span = kind is bool and isinstance(self.concrete, datetime.timedelta)
        return self != datetime.timedelta(0) if span else kind(self)

    def in_text(self, spec: Any, conversion: str) -> Any:
        """As an f-string has it: a format of a date is one of `strftime`."""
        if conversion not in ("", "s"):
            self.tracer.refuse(f"the repr of a {type(self.concrete).__name__} cannot be recorded", self.asks)
        if isinstance(self.concrete, datetime.timedelta) or conversion:
            text = self.ask("str")
            return self.tracer.scalar("format", text, spec, "") if conversion and spec else text
        return self.ask("strftime", spec) if spec else self.ask("str")

    def strftime(self, form: Any) -> Any:
        """As for a date."""
        return self.ask("strftime", form)

    def isoformat(self, *args: Any, **options: Any) -> Any:
        """As for a date."""
        known = {"sep": "T", "timespec": "auto"} if isinstance(self.concrete, datetime.datetime) else {}
        if not options.keys() <= known.keys():
            self.tracer.refuse("isoformat was given an option that is not recorded", self.asks)
        given = (*args, *[options.get(key, known[key]) for key in list(known)[len(args) :]]) if options else args
        return self.ask("isoformat", *given)

    def isocalendar(self) -> Any:
        """As for a date."""
        return IsoCalendarDate(*[self.ask("isocalendar", place) for place in range(3)])

    def timestamp(self) -> Any:
        """As for a datetime; one without a time zone is the machine's, and refused."""
        if self.concrete.tzinfo is None:
            self.tracer.refuse(
                "timestamp of a datetime without a time zone hangs on the machine",
                "Write date.replace(tzinfo=timezone.utc).timestamp(), or (date - datetime(1970, 1, 1)).days.",
            )
        return self.ask("timestamp")

    def replace(self, **parts: Any) -> Any:
        """As for a date, by keywords."""
        if set(parts) == {"tzinfo"} and parts["tzinfo"] in (None, datetime.timezone.utc):
            return self.ask("in_utc" if parts["tzinfo"] else "without_zone")
        if not parts.keys() <= set(_REPLACED):
            self.tracer.refuse("replace was given what is not recorded", f"It takes {', '.join(_REPLACED)}.")
        return self.ask("replace", " ".join(parts), *parts.values())

    def __getattr__(self, name: str) -> Any:
        if name in FIELDS and hasattr(self.concrete, name):
            return self.ask("get", name)
        if name in (*NUMBERS, *PARTS) and hasattr(self.concrete, name):
            return partial(self.ask, name)
        if name == "tzinfo" and hasattr(self.concrete, name):
            return MaybeThing(self.tracer, self.ask("has_no_zone"), _Zone(self.tracer))
        return super().__getattr__(name)

    def __bool__(self) -> bool:
        return not isinstance(self.concrete, datetime.timedelta) or bool(self != datetime.timedelta(0))

    def __format__(self, spec: str) -> str:
        return str(self._pin("it was formatted into a string"))
