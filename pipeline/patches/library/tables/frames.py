"""Tables of pandas that are constants and are asked by a key of the recording.

``prices[i]`` of a Series, ``frame.loc[i, "price"]``, ``frame.at[i, "title"]`` and ``frame.iloc[i]["title"]`` become the
look-up of a place, or of an entry, as a list or a dict of constants has it, and so do ``names.get(text, "none")`` and
``text in prices``. Pandas itself keeps what it was asked by.
"""

from __future__ import annotations

import sys
from typing import Any

from ....proxies.base import is_traced
from ....recording.recorder import Recorder
from .asked_table import AskedTable


def of_frames(recorder: Recorder | None, container: Any, key: Any) -> tuple[Any, Any]:
    """A container of pandas and a key of the recording as a list, an array or a dict, and the key for that.

    Args:
        recorder: of the function.
        container: what is asked, of any class.
        key: what it is asked by.
    """
    if recorder is None:
        return container, key
    if type(container).__module__.partition(".")[0] != "pandas":
        return container, key
    pandas = sys.modules["pandas"]
    kind, held = type(container).__name__, getattr(container, "obj", None)
    if isinstance(container, pandas.Series) and is_traced(key):
        return _by_label(recorder, container, key)
    if isinstance(container, pandas.api.extensions.ExtensionArray) and is_traced(key):
        return _entries(pandas.Series(container)), key
    if kind in ("_LocIndexer", "_AtIndexer", "_iLocIndexer", "_iAtIndexer"):
        of_places = kind.startswith("_i")
        if isinstance(held, pandas.Series) and is_traced(key):
            return (_entries(held), key) if of_places else _by_label(recorder, held, key)
        if isinstance(held, pandas.DataFrame):
            return _of_frame(recorder, container, held, key, of_places)
    return container, key


def _of_frame(recorder: Recorder, container: Any, frame: Any, key: Any, of_places: bool) -> tuple[Any, Any]:
    """An entry, or a row, of a frame."""
    if type(key) is tuple and len(key) == 2 and is_traced(key[0]) and not is_traced(key[1]):
        column = frame.iloc[:, key[1]] if of_places else frame[key[1]]
        return (_entries(column), key[0]) if of_places else _by_label(recorder, column, key[0])
    if is_traced(key) and type(key.concrete) in (int, str):
        place = key if of_places else _place(recorder, frame.index, key)
        if place is not None and len(frame) and frame.columns.is_unique:
            kind = frame.iloc[0].dtype  # numbers in a row have one type, where it holds nothing else
            parts = {name: _entries(frame[name]) for name in frame.columns}
            if kind.kind in "biufc":
                parts = {name: part.astype(kind) for name, part in parts.items()}
            return {None: {name: AskedTable(recorder, part)[place] for name, part in parts.items()}}, None
    return container, key


def _by_label(recorder: Recorder, series: Any, key: Any) -> tuple[Any, Any]:
    place = _place(recorder, series.index, key)
    return (series, key) if place is None else (_entries(series), place)


class SeriesOfRun:
    """Stands for a Series whose `get` is called.

    Args:
        recorder: of the function.
        series: the constant.
    """

    def __init__(self, recorder: Recorder, series: Any) -> None:
        self.recorder, self.series = recorder, series

    def get(self, key: Any, *default: Any, **named: Any) -> Any:
        """``series.get(key, default)``; an entry that is a number of numpy is of another type than the default."""
        if not is_traced(key):
            return self.series.get(key, *default, **named)
        entries = _entries(self.series)
        labels = _labels(self.series.index, key)
        if labels is None or type(entries) is not list or not all(type(each) is str for each in entries):
            self.recorder.refuse(
                "a Series of pandas gives a number of numpy or the default, as a key that is decided at run time asks",
                "Write table = series.to_dict(), then table.get(key, default), which gives numbers of Python.",
            )
        return AskedTable(self.recorder, dict(zip(labels, entries, strict=True))).get(key, *default, *named.values())


def is_series(thing: Any) -> bool:
    """Whether a thing is a Series of pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(thing, pandas.Series)


def labels_in(container: Any, key: Any) -> Any:
    """The labels among which ``key in container`` looks, for a container of pandas; any other one as it is."""
    if type(container).__module__.partition(".")[0] != "pandas" or not is_traced(key):
        return container
    index = getattr(container, "columns", getattr(container, "index", container))
    found = _labels(index, key) if isinstance(index, sys.modules["pandas"].Index) else None
    return container if found is None else found


def _labels(index: Any, key: Any) -> list[Any] | None:
    """The labels of an index, each once; None where they are of another type than a key."""
    labels, kind = index.tolist(), type(key.concrete)
    plain = kind in (int, str) and all(type(each) is kind for each in labels) and index.is_unique
    return labels if plain else None


def _place(recorder: Recorder, index: Any, key: Any) -> Any:
    """The place of a label; None where labels are of another type than it, or not of one place each."""
    labels = _labels(index, key)
    if labels is None:
        return None
    return AskedTable(recorder, {label: place for place, label in enumerate(labels)})[key]


def _entries(series: Any) -> Any:
    """The entries of a Series, as Python or numpy has each of them."""
    found = series.to_numpy()
    return found if found.dtype.kind in "biufc" else list(found)
