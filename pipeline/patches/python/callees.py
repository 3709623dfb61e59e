"""Stand-ins for builtins and functions of Python's library that take traced texts, lists and numbers.

They take part only where the operations of `operations` are recorded, too.
"""

from __future__ import annotations

import json
import operator
import re
import unicodedata
from collections.abc import Callable
from typing import Any

from ...lists.loop import collected
from ...lists.mapping import each
from ...proxies.arrays import TracedArray
from ...proxies.lists import TracedDict, TracedList
from ...proxies.strings import TracedStr
from ...recording.recorder import Recorder
from ..redirect import deep_stand_in
from .methods import EXPRESSIONS, RegularExpressions, dumps, normalize
from .operations import SUBSCRIPT, active, formatted, holds_traced, to_dict


def _text(*args: Any, **kwargs: Any) -> Any:
    """Stands for `str`."""
    one = active() is not None and len(args) == 1 and not kwargs
    if one and holds_traced(args[0]) and type(args[0]) is not TracedArray:
        return args[0] if type(args[0]) is TracedStr else formatted(args[0], "", "s")
    return str(*args, **kwargs)


def _shown(thing: Any, /) -> Any:
    """Stands for `repr`."""
    return formatted(thing, "", "r") if active() is not None and holds_traced(thing) else repr(thing)


def _format(thing: Any, spec: Any = "", /) -> Any:
    """Stands for `format`."""
    return formatted(thing, spec)


def _listed(*args: Any) -> Any:
    """Stands for `list`."""
    recorder = active()
    if recorder is None or len(args) != 1:
        return list(*args)
    if type(args[0]) is TracedStr:
        return recorder.scalar("list", args[0])
    found = collected(recorder, args[0])
    if type(found) is TracedDict:
        return found.keys()
    return found if type(found) is TracedList and type(args[0]) is not TracedList else _copied_list(recorder, found)


def _copied_list(recorder: Recorder, items: Any) -> Any:
    if type(items) is not TracedList:
        return list(items)
    found = recorder.scalar("list", items)
    found.sized_by = items.length
    return found


def _lengths(recorder: Recorder, lists: Any) -> Callable[[], Any]:
    def length() -> Any:
        sizes = [items.length() if type(items) is TracedList else len(items) for items in lists]
        return sizes[0] if len(sizes) == 1 else recorder.scalar("min", *sizes)

    return length


def _zipped(*lists: Any, strict: Any = False) -> Any:
    """Stands for `zip`."""
    recorder = active()
    if recorder is None or not any(type(items) is TracedList for items in lists):
        return zip(*lists, strict=strict)
    lists = tuple(collected(recorder, items) for items in lists)
    found = recorder.scalar("zip_strict" if strict else "zip", *lists)
    found.sized_by = _lengths(recorder, lists)
    return found


def _numbered(items: Any, start: Any = 0) -> Any:
    """Stands for `enumerate`."""
    recorder = active()
    if recorder is None or type(items) is not TracedList:
        return enumerate(items, start)
    found = recorder.scalar("enumerate", items, start)
    found.sized_by = _lengths(recorder, [items])
    return found


def _reversed(items: Any, /) -> Any:
    """Stands for `reversed`."""
    recorder = active()
    if recorder is None or type(items) is not TracedList:
        return reversed(items)
    found = recorder.scalar("reversed", items)
    found.sized_by = items.length
    return found


def _sorted(items: Any, /, *, key: Any = None, reverse: Any = False) -> Any:
    """Stands for `sorted`."""
    recorder = active()
    if recorder is not None:
        items = collected(recorder, items)
        if key is None and (type(items) is TracedList or holds_traced(items)):
            found = recorder.scalar("sorted", items, reverse)
            found.sized_by = _lengths(recorder, [items])
            return found
    return sorted(items, key=key, reverse=reverse)


def _of_list(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    """Stands for a function of one iterable: `sum`, `any`, `all`."""

    def call(items: Any, *rest: Any, **kwargs: Any) -> Any:
        recorder = active()
        if recorder is not None and not kwargs:
            items = collected(recorder, items)
            if type(items) is TracedList or (name != "total" and holds_traced(items)):
                return recorder.scalar(name, items, *rest)
        return plain(items, *rest, **kwargs)

    return call


def _mapped(function: Any, *lists: Any) -> Any:
    """Stands for `map`."""
    recorder = active()
    if recorder is None or len(lists) != 1 or type(lists[0]) is not TracedList:
        return map(function, *lists)
    return each(recorder, _recorded(function), lists[0])


def _recorded(function: Any) -> Callable[[Any], Any]:
    """The function, or what stands for a builtin or for the subscript of a table."""
    owner = getattr(function, "__self__", None)
    if getattr(function, "__name__", "") == "__getitem__" and type(owner) in (list, dict, tuple):
        return _entry_of(owner)
    if isinstance(owner, type(None)) and function in STAND_IN_OF:
        return STAND_IN_OF[function]
    return function  # type: ignore[no-any-return]  # the user's own


def _entry_of(table: Any) -> Callable[[Any], Any]:
    def entry(key: Any) -> Any:
        key, container = SUBSCRIPT[(table, key)]
        return container[key]

    return entry


def _dict(*args: Any, **kwargs: Any) -> Any:
    """Stands for `dict`."""
    recorder = active()
    if recorder is None or len(args) != 1 or kwargs:
        return dict(*args, **kwargs)
    if type(args[0]) is TracedList:
        columns = [each(recorder, operator.itemgetter(index), args[0]) for index in (0, 1)]
        return recorder.scalar("dict", *columns)
    if isinstance(args[0], dict):
        return dict(args[0])
    return to_dict(collected(recorder, args[0]))


_STAND_INS: list[tuple[Any, Callable[..., Any]]] = [
    (str, _text), (repr, _shown), (format, _format), (list, _listed), (zip, _zipped), (enumerate, _numbered),
    (sorted, _sorted), (sum, _of_list("total", sum)), (any, _of_list("any", any)), (all, _of_list("all", all)),
    (reversed, _reversed), (map, _mapped), (dict, _dict), (json.dumps, dumps), (unicodedata.normalize, normalize),
    *((getattr(re, name), getattr(RegularExpressions(re), name)) for name in EXPRESSIONS),
]  # fmt: skip


STAND_IN_OF = {plain: function for plain, function in _STAND_INS if plain is str or plain is repr}


def register() -> None:
    """Makes the stand-ins known to the code of recorded functions."""
    for plain, function in _STAND_INS:
        deep_stand_in(plain, function)
