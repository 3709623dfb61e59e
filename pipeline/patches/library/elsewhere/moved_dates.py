"""What asks for the present date and time in `datetime`, at another moment.

The methods are those of a class of C, which takes no attribute by `setattr`. They are replaced where the class keeps
them, so that all who look them up are heard: the user's code by any name of the class, and C code such as pandas'.
"""

from __future__ import annotations

import ctypes
import datetime
import gc
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from .clocks import here


class TypeNames:
    """The names in a class of C, as an owner that a patch can write."""

    __slots__ = ("__dict__", "kind")
    kind: type

    def __init__(self, kind: type) -> None:
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "__dict__", gc.get_referents(vars(kind))[0])  # what the view of it is one of

    def __setattr__(self, name: str, value: Any) -> None:
        vars(self)[name] = value
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(self.kind))  # or what was looked up before is found again


def _moved(plain: Any) -> Any:
    """A classmethod of `datetime` that shows the time of the moment."""

    def show(cls: Any, *args: Any, **kwargs: Any) -> Any:
        now = plain.__get__(None, cls)(*args, **kwargs)
        asking = sys._getframe(1)
        here.ask(asking)
        if here.moment is None:
            return now
        if here.aim is not None:
            stamp = here.aim.shown(now.timestamp(), 1)
            return cls.fromtimestamp(stamp, now.tzinfo)
        return now + datetime.timedelta(seconds=here.later(asking))

    return classmethod(show)


def _in_place_of(plain: Any, bound: Any) -> Any:
    return _moved(plain)


_OWNER = TypeNames(datetime.datetime)
PLACES: list[tuple[Any, str, Callable[[Any], Any]]] = [
    (_OWNER, name, partial(_in_place_of, vars(_OWNER)[name])) for name in ("now", "utcnow")
]
"""`date.today` needs none: it asks the `time` of its module."""
