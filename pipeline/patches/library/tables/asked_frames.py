"""Refuses a table of pandas that asks its index, in C, for a key that is decided at run time.

Its tables take no stand-in for equal to a label: the key would count as missing, without a guard.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

from ....proxies.base import is_traced
from ...hooks import Hooks, active

_ASKING = ("get_loc", "__contains__")


def _refusing(plain: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(plain)
    def asked(index: Any, key: Any, *rest: Any, **named: Any) -> Any:
        recorder = active() if is_traced(key) else None
        if recorder is not None:
            recorder.refuse(
                "a table of pandas is asked by what is decided at run time",
                "Ask a list or a dict of it: key in index.tolist(), series.to_dict()[key].",
            )
        return plain(index, key, *rest, **named)

    return asked


def _refusing_map(plain: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(plain)
    def mapped(series: Any, *given: Any, **named: Any) -> Any:
        recorder = active() if series.dtype == object and any(map(is_traced, series.array)) else None
        if recorder is not None and not callable(given[0] if given else next(iter(named.values()), None)):
            recorder.refuse(
                "a table of pandas is asked by what is decided at run time",
                "Write table = series.to_dict() of the table, then [table.get(key, 0.0) for key in keys].",
            )
        return plain(series, *given, **named)

    return mapped


def frames() -> Any:
    """A context in which a recorder refuses that, where pandas is there."""
    pandas = sys.modules.get("pandas")
    index = getattr(pandas, "Index", None)
    if not isinstance(index, type):
        return Hooks([])()
    if not _hooks:
        kinds = [index, *_below(index)]
        asking = [(k, name, _refusing) for k in kinds for name in _ASKING if name in vars(k)]
        _hooks.append(Hooks([*asking, (sys.modules["pandas"].Series, "map", _refusing_map)]))
    return _hooks[0]()


_hooks: list[Hooks] = []


def _below(kind: type) -> list[type]:
    children: list[type] = kind.__subclasses__()
    return [each for child in children for each in (child, *_below(child))]
