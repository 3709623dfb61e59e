"""Classes of dates that show another moment: they stand for those of `datetime` in the globals of a tried function."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

from .clocks import here


class _Moved(type):
    """The class of a stand-in, of which no object is made: calls make objects of the class itself."""

    plain: type

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls.plain(*args, **kwargs)

    def __instancecheck__(cls, thing: Any) -> bool:
        return isinstance(thing, cls.plain)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, cls.plain)


def _shown(plain: datetime.datetime) -> datetime.datetime:
    """A date and time as that of the moment."""
    if here.moment is None:
        return plain
    if here.aim is not None:
        return datetime.datetime.fromtimestamp(here.aim.shown(plain.timestamp(), 1), plain.tzinfo)
    return plain + datetime.timedelta(seconds=here.later(sys._getframe(2)))


def _now(zone: datetime.tzinfo | None = None, tz: datetime.tzinfo | None = None) -> Any:
    return _shown(datetime.datetime.now(tz if zone is None else zone))


def _utc() -> Any:
    return _shown(datetime.datetime.now(datetime.timezone.utc)).replace(tzinfo=None)


def _here() -> Any:
    return _shown(datetime.datetime.now())


def _today() -> Any:
    return _shown(datetime.datetime.now()).date()


def _standing_for(kind: type, **asking: Callable[..., Any]) -> Any:
    found = {name: staticmethod(each) for name, each in asking.items()}
    return _Moved(kind.__name__, (kind,), {**found, "plain": kind})


_CLASSES: dict[Any, Any] = {
    datetime.datetime: _standing_for(datetime.datetime, now=_now, utcnow=_utc, today=_here),
    datetime.date: _standing_for(datetime.date, today=_today),
}
_MODULE = SimpleNamespace(**{**vars(datetime), **{kind.__name__: each for kind, each in _CLASSES.items()}})


def moved(thing: Any) -> Any:
    """What stands for a class of dates, or for their module; None for other things."""
    if isinstance(thing, ModuleType):
        return _MODULE if thing is datetime else None
    return _CLASSES.get(thing) if isinstance(thing, type) else None
