"""Refuses a table of pandas that is made of what is decided at run time, or asks its index, in C, for such a key.

Its tables take no stand-in for equal to a label: the key would count as missing, without a guard. And they make plain
numbers of stand-ins in their own code, which fixes each of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

from ....proxies.base import is_traced
from ....proxies.strings import TracedStr
from ...hooks import Hooks, active

_ASKING = ("get_loc", "__contains__")
_MOST_DEPTH = 3  # of the lists and dicts that a table is made of


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


def _refusing_table(plain: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(plain)
    def made(table: Any, data: Any = None, *rest: Any, **named: Any) -> None:
        recorder = active()
        if recorder is not None and _holds_numbers(data):
            recorder.refuse(
                f"a {type(table).__name__} of pandas is made of what is decided at run time, and no recording follows "
                "what it does",
                "Work on the lists and arrays themselves: sum(row['price'] for row in rows); an op that was scripted "
                "with a table takes its columns one by one: op(np.array(ages), cities).",
            )
        plain(table, data, *rest, **named)

    return made


def _holds_numbers(data: Any, depth: int = 0) -> bool:
    """Whether there is something of the recording in what a table is made of, but for texts, which stay as they are."""
    if isinstance(data, dict | list | tuple) and depth < _MOST_DEPTH:
        items = data.values() if isinstance(data, dict) else data
        return any(_holds_numbers(each, depth + 1) for each in items)
    return is_traced(data) and not isinstance(data, TracedStr)


def frames() -> Any:
    """A context in which a recorder refuses that, where pandas is there."""
    pandas: Any = sys.modules.get("pandas")
    index = getattr(pandas, "Index", None)
    if not isinstance(index, type):
        return Hooks([])()
    if not _hooks:
        kinds = [index, *_below(index)]
        asking = [(k, name, _refusing) for k in kinds for name in _ASKING if name in vars(k)]
        tables = [(kind, "__init__", _refusing_table) for kind in (pandas.DataFrame, pandas.Series)]
        _hooks.append(Hooks([*asking, *tables, (pandas.Series, "map", _refusing_map)]))
    return _hooks[0]()


_hooks: list[Hooks] = []


def _below(kind: type) -> list[type]:
    children: list[type] = kind.__subclasses__()
    return [each for child in children for each in (child, *_below(child))]
