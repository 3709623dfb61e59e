"""Objects of compiled classes, which show neither items nor attributes: tables of pandas, and what can be pickled.

Nothing of it is archived: two pickles of what an object holds are compared, and one is read again to set it back.
"""

from __future__ import annotations

import pickle
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from .open_files import Access

MOST_BYTES, MOST_SECONDS, TRIES = 1 << 18, 2e-3, 3
"""Of an object that is watched: it is looked at after each of some thousand calls."""
_LEFT_OUT = frozenset(("tokenizers", "onnxruntime", "tracepack", "torch", "numpy", "builtins"))


def pickled(thing: Any) -> Access | None:
    """A name for an object, and functions that read and set what it holds; None for other kinds."""
    kind = type(thing)
    if (pandas := sys.modules.get("pandas")) and kind in (pandas.DataFrame, pandas.Series):
        return _watched(thing, partial(_columns, thing), _to_table(thing, thing.copy()))
    if callable(thing) or kind.__module__.partition(".")[0] in _LEFT_OUT or not hasattr(kind, "__setstate__"):
        return None
    if hasattr(thing, "__dict__") or any(vars(each).get("__slots__") for each in kind.__mro__):
        return None  # it shows what it holds
    return _watched(thing, partial(_state, thing), lambda items: thing.__setstate__(pickle.loads(items[""])))


def _watched(thing: Any, state: Callable[[], Any], write: Callable[[dict[Any, Any]], None]) -> Access | None:
    """The access to an object, where to look at it takes little."""

    def read() -> dict[Any, Any]:
        return {"": pickle.dumps(state(), 4)}

    takes: list[float] = []
    try:
        alike = len(first := read()[""]) <= MOST_BYTES
        while alike and len(takes) < TRIES:  # the processor's time of the quickest, whatever runs beside
            start = time.thread_time()
            alike = first == read()[""]
            takes.append(time.thread_time() - start)
    except Exception:  # a class raises whatever it likes where it cannot be pickled
        return None
    small = alike and min(takes) <= MOST_SECONDS
    name = type(thing).__name__
    return (f"a{'n' * (name[0] in 'AEIOU')} {name}", read, write) if small else None


def _state(thing: Any) -> Any:
    """What `__setstate__` takes."""
    return thing.__reduce_ex__(4)[2]


def _columns(table: Any) -> list[Any]:
    """What a table holds, in whatever blocks it keeps its columns."""
    frame = table if table.ndim == 2 else table.to_frame()
    columns = [frame.iloc[:, place].to_numpy() for place in range(frame.shape[1])]
    return [list(frame.columns), list(frame.index), *columns, *map(str, frame.dtypes), table.attrs]


def _to_table(table: Any, before: Any) -> Callable[[dict[Any, Any]], None]:
    def write(items: dict[Any, Any]) -> None:
        vars(table)["_mgr"] = before.copy()._mgr
        table.attrs.clear()
        table.attrs.update(before.attrs)

    return write
