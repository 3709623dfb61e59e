"""What stands for the classes of `datetime`, where their objects are made of texts and numbers of the recording."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

from ....proxies.base import is_traced
from ....recording.recorder import Recorder
from ...python.operations import active, holds_traced

_OF_TIME = ("hour", "minute", "second", "microsecond")
_PARTS: dict[type, tuple[str, ...]] = {
    datetime.datetime: ("year", "month", "day", *_OF_TIME),
    datetime.date: ("year", "month", "day"),
    datetime.time: _OF_TIME,
    datetime.timedelta: ("days", "seconds", "microseconds", "milliseconds", "minutes", "hours", "weeks"),
}
_LEAST = {"year": 1, "month": 1, "day": 1}
_ZONE = "Use no zone, or timezone.utc."


def _making(kind: type) -> Callable[..., Any]:
    """Stands for a class of dates that is called."""
    names = _PARTS[kind]

    def make(*args: Any, **parts: Any) -> Any:
        recorder = active()
        if recorder is None or not holds_traced((args, parts)):
            return kind(*args, **parts)
        zone = parts.pop("tzinfo", None)
        given = dict(zip(names, args, strict=False)) | parts
        if len(args) > len(names) or not given.keys() <= set(names):
            recorder.refuse(f"{kind.__name__} was given what is not recorded", f"It takes {', '.join(names)}.")
        missing = [name for name in _LEAST if name in names and name not in given]
        if missing:
            raise TypeError(f"function missing required argument '{missing[0]}'")
        found = recorder.scalar("date", "make", kind.__name__, *[given.get(name, 0) for name in names])
        return _in_zone(recorder, found, zone)

    return make


def _in_zone(recorder: Recorder, date: Any, zone: Any) -> Any:
    if zone not in (None, datetime.timezone.utc):
        recorder.refuse("a date in this time zone cannot be recorded", _ZONE)
    return date if zone is None else recorder.scalar("date", "in_utc", date)


def _read(kind: type) -> Callable[..., Any]:
    def strptime(text: Any, form: Any) -> Any:
        recorder = active()
        if recorder is None or not is_traced(text):
            return kind.strptime(text, form)  # type: ignore[attr-defined]  # it is datetime
        return recorder.scalar("date", "strptime", text, form)

    return strptime


def _from(name: str) -> Callable[[type], Callable[..., Any]]:
    """Stands for a method of a class that makes a date of one text or number."""

    def of_class(kind: type) -> Callable[..., Any]:
        def make(thing: Any) -> Any:
            recorder = active()
            if recorder is None or not is_traced(thing):
                return getattr(kind, name)(thing)
            return recorder.scalar("date", name, kind.__name__, thing)

        return make

    return of_class


def _from_timestamp(kind: type) -> Callable[..., Any]:
    def fromtimestamp(seconds: Any, *args: Any, **options: Any) -> Any:
        recorder = active()
        if recorder is None or not is_traced(seconds):
            return kind.fromtimestamp(seconds, *args, **options)  # type: ignore[attr-defined]  # it is datetime, or date
        if kind is not datetime.datetime or (*args, *options.values()) != (datetime.timezone.utc,):
            recorder.refuse(
                "fromtimestamp without a time zone hangs on the machine",
                "Write datetime.fromtimestamp(seconds, timezone.utc), and .replace(tzinfo=None) where none is wanted.",
            )
        return recorder.scalar("date", "fromtimestamp", seconds)

    return fromtimestamp


def _from_utc(kind: type) -> Callable[..., Any]:
    def utcfromtimestamp(seconds: Any) -> Any:
        recorder = active()
        if recorder is None or not is_traced(seconds):
            return kind.utcfromtimestamp(seconds)  # type: ignore[attr-defined]  # it is datetime
        return recorder.scalar("date", "without_zone", recorder.scalar("date", "fromtimestamp", seconds))

    return utcfromtimestamp


OF_CLASSES: dict[str, Callable[[type], Callable[..., Any]]] = {
    "strptime": _read, "fromisoformat": _from("fromisoformat"), "fromordinal": _from("fromordinal"),
    "fromtimestamp": _from_timestamp, "utcfromtimestamp": _from_utc,
}  # fmt: skip
"""The name of a method of a class of dates -> what stands for it, by the class."""

METHODS: dict[Any, Callable[..., Any]] = {
    getattr(kind, name): of_class(kind)
    for name, of_class in OF_CLASSES.items()
    for kind in _PARTS
    if hasattr(kind, name)
}
"""The same by the methods themselves, as in ``map(date.fromisoformat, texts)``."""

CLASSES: dict[type, Callable[..., Any]] = {kind: _making(kind) for kind in _PARTS}
"""A class of dates -> what stands for it where it is called."""
