"""Stand-ins for builtins and functions of Python's library that take traced texts, lists and numbers.

They take part only where the operations of `operations` are recorded, too.
"""

from __future__ import annotations

import base64
import functools
import itertools
import json
import math
import re
import statistics
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import torch

from ....ops.graph.operators.names import STATISTICS
from ...lists import mapping
from ...lists.fold import Fold
from ...lists.iterating import are_nobodys, beside, goes_through_list, references, until
from ...lists.loop import Loop
from ...lists.mapping import as_rows, each, rows_of
from ...lists.reductions import picked
from ...lists.walking.iterators import ListIterator, collected, side_by_side
from ...proxies.arrays import TracedArray
from ...proxies.base import is_free_shape, is_traced
from ...proxies.dicts import TracedDict
from ...proxies.lists import TracedList
from ...proxies.sets import TracedSet
from ...proxies.strings import TracedStr
from ...proxies.values.members import TracedMember
from ...recording.recorder import Recorder
from ...rules.number_or_tensor import number_of
from ..expressions import EXPRESSIONS, RegularExpressions
from ..library.codes.base64_calls import OF_BASE64
from ..library.codes.byte_buffers import buffer_of
from ..library.codes.structs import OF_CODES
from ..library.given_functions import keys_of, recorded
from ..library.orders import OF_ORDERS
from ..library.replacements import MODULES, OF_ITERABLES, accumulate, dumps, normalize, padded, power, reduce
from ..library.tables.asked_table import as_plain
from ..library.tallies import counted, to_set
from ..library.values.dates import CLASSES, METHODS
from ..library.values.decimals import made
from ..library.values.numpy_types import OF_NUMBERS
from ..library.values.one_object import OF_IDENTITY
from ..library.values.text_calls import OF_TEXTS
from ..library.values.typed_tensors import OF_DTYPES
from ..redirect import STAND_INS, deep_stand_in, own
from .asked_once import is_unseen
from .conditions.own_answers import own_text
from .entries import merged
from .loops.constants import as_one_list
from .operations import active, formatted, holds_traced, to_dict
from .rounds.asking import gone_through, iterator_over, letters, next_of
from .traced_range import traced_range
from .unpacking import part_of_pair


def _text(*args: Any, **kwargs: Any) -> Any:
    """Stands for `str`."""
    one = active() is not None and len(args) == 1 and not kwargs
    if one and type(args[0]) is TracedMember:
        return args[0].in_text("", "s")
    if one and (holds_traced(args[0]) or is_free_shape(args[0])) and type(args[0]) is not TracedArray:
        return args[0] if type(args[0]) is TracedStr else formatted(args[0], "", "s")
    found = own_text(args[0], "", "s") if one else None
    return str(*args, **kwargs) if found is None else found


def _shown(plain: Callable[[Any], str], conversion: str) -> Callable[[Any], Any]:
    """Stands for `repr` or `ascii`."""

    def shown(thing: Any, /) -> Any:
        traced = active() is not None and (holds_traced(thing) or is_free_shape(thing) or type(thing) is TracedMember)
        found = None if active() is None else own_text(thing, "", conversion)
        return formatted(thing, "", conversion) if traced else plain(thing) if found is None else found

    return shown


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
    found = collected(recorder, given := as_rows(recorder, args[0]))
    if issubclass(type(found), TracedDict):
        return found.keys()
    return found if type(found) is TracedList and type(given) is not TracedList else _copied_list(recorder, found)


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
    alone = [are_nobodys(references(lists[place])) for place in range(len(lists))]
    kept = any(map(goes_through_list, itertools.compress(lists, [not each for each in alone])))
    if len(lists) > 1 and type(lists[0]) is ListIterator and all(items is lists[0] for items in lists):
        lists = tuple(side_by_side(lists[0], len(lists)))
    lists = tuple(letters(recorder, as_rows(recorder, items)) for items in lists)
    if recorder is None or kept or not any(type(items) is TracedList for items in lists):
        return zip(*lists, strict=strict)  # somebody may see how far a shorter list lets an iterator come
    if not strict:  # what has no end, as itertools.count(), goes as far as a list of the example
        lists = tuple(_numbers(recorder, items, lists) if type(items) is itertools.count else items for items in lists)
    lists = tuple(beside(recorder, items) for items in lists)
    if any(isinstance(items, Iterator) for items in lists):  # one without an end: Python goes through all of them
        return zip(*lists, strict=strict)
    found = recorder.scalar("zip_strict" if strict else "zip", *lists)
    found.sized_by = _lengths(recorder, lists)
    return found


def _numbers(recorder: Recorder, counter: Any, lists: Sequence[Any]) -> Any:
    """The numbers of an `itertools.count`, as many as there are items in the lists beside it."""
    length = _lengths(recorder, [items for items in lists if type(items) is not itertools.count])()
    found = re.fullmatch(r"count\((-?\d+)(?:, ([1-9]\d*))?\)", repr(counter))  # which moves it no further
    if found is None:
        recorder.refuse("itertools.count beside a list of any length counts whole numbers upwards", "Use enumerate.")
    first, step = int(found[1]), int(found[2] or 1)
    return traced_range(first, recorder.scalar("add", recorder.scalar("mul", length, step), first), step)


def _numbered(items: Any, start: Any = 0) -> Any:
    """Stands for `enumerate`."""
    recorder = active()
    items = letters(recorder, as_rows(recorder, items))
    if recorder is None or type(items) is not TracedList:
        return enumerate(items, start)
    found = recorder.scalar("enumerate", items, start)
    found.sized_by = _lengths(recorder, [items])
    return found


def _reversed(items: Any, /) -> Any:
    """Stands for `reversed`."""
    recorder = active()
    if recorder is not None and isinstance(items, torch.Tensor) and items in recorder.values and recorder.rank(items):
        return rows_of(recorder, torch.flip(items, (0,)))
    items = letters(recorder, as_rows(recorder, items))
    if recorder is None or type(items) is not TracedList:
        return reversed(items)
    found = recorder.scalar("reversed", items)
    found.sized_by = items.length
    return found


def _keyed(items: Any, key: Any) -> tuple[Any, Any]:
    """What is gone through and its key, where it is a dict or a set: ``max(table, key=table.get)``."""
    if type(items) is TracedSet:
        return items.items, key
    if not isinstance(items, TracedDict) or not is_traced(items):
        return items, key
    asks = getattr(key, "__self__", None) is items and getattr(key, "__name__", "") == "get"
    return items.keys(), items.__getitem__ if asks else key


def _sorted(items: Any, /, *, key: Any = None, reverse: Any = False) -> Any:
    """Stands for `sorted`."""
    recorder = active()
    if recorder is not None:
        items, key = _keyed(items, key)
        items = collected(recorder, items)
        keys = items if key is None else keys_of(recorder, key, items)
        if type(items) is TracedList or holds_traced(items) or holds_traced(keys):
            items, objects = as_plain(items)
            found = recorder.scalar(*("sorted", items) if key is None else ("sorted_by", items, keys), reverse)
            found.sized_by, found.objects = _lengths(recorder, [items]), objects
            return found
    return sorted(items, key=key, reverse=reverse)


def _of_list(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    """Stands for a function of one iterable: `sum`, `any`, `all`."""

    def call(items: Any, /, *rest: Any, **kwargs: Any) -> Any:
        recorder, count = active(), references(items)
        if type(items) is TracedSet and all(type(each) in (int, bool) for each in items.items.concrete):
            items = items.items  # of whole numbers any order gives the same sum
        rest = (*rest, kwargs.pop("start")) if name == "total" and not rest and kwargs.keys() == {"start"} else rest
        if recorder is not None and not kwargs:
            asks = name in ("any", "all") and isinstance(items, Iterator)
            if asks and not is_unseen(items, count):
                return plain(items)
            given = as_rows(recorder, items) if name == "total" else items
            decided = asks and not goes_through_list(given)
            items = collected(recorder, until(recorder, given, name == "any") if decided else given)
            if name == "total" and _holds_tensors(items):
                return _added(recorder, items, *rest)
            if type(items) is TracedList or (name != "total" and holds_traced(items)):
                return recorder.scalar(name, items, *rest)
        return plain(items, *rest, **kwargs)

    return call


def _holds_tensors(items: Any) -> bool:
    return type(items) is TracedList and bool(items.concrete) and isinstance(items.concrete[0], torch.Tensor)


def _added(recorder: Recorder, items: TracedList, start: Any = 0) -> Any:
    """The sum of a list of tensors, added up one by one as Python does."""
    loop = Fold(recorder, items)
    (found,) = loop.turn((start,))
    for item in loop:
        (found,) = loop.turn((found + item,))
    return found


def _mapped(function: Any, *lists: Any) -> Any:
    """Stands for `map`."""
    recorder = active()
    if recorder is None:
        return map(function, *lists)
    lists = tuple(gone_through(recorder, items) for items in lists)
    if not any(type(items) is TracedList for items in lists):
        return map(recorded(function), *lists)
    if len(lists) == 1:
        return each(recorder, recorded(function), lists[0])
    together = _zipped(*lists)
    if type(together) is not TracedList:
        return map(recorded(function), *lists)
    return each(recorder, lambda items: recorded(function)(*items), together)


def _mapped_by_us(function: Any, items: Any) -> Any:
    """Stands for `tracepack.map`, which knows nothing of what stands for a builtin."""
    return mapping.map(function if active() is None else recorded(function), items)


def _filtered(function: Any, items: Any) -> Any:
    """Stands for `filter`."""
    recorder = active()
    items = items if recorder is None else as_one_list(recorder, gone_through(recorder, items))
    if recorder is None or type(items) is not TracedList:
        return filter(function, items)
    loop, found = Loop(recorder, items), []
    for item in loop:
        wanted = number_of(recorder, item if function is None else recorded(function)(item))
        if not is_traced(wanted):
            return recorder.refuse(
                "filter has a condition that no item decides",
                "Filter in a list comprehension: [x for x in items if …].",
            )
        loop.filter(recorder.scalar("bool", wanted))
        found.append(item)
    return loop.gathered(found)


def _best(plain: Any) -> Callable[..., Any]:
    """Stands for `max` or `min` with a key."""
    beside = STAND_INS[plain.__name__]

    def best(*args: Any, **kwargs: Any) -> Any:
        recorder = active()
        if recorder is not None and len(args) == 1 and not kwargs:
            return beside(letters(recorder, args[0].items if type(args[0]) is TracedSet else args[0]))
        if recorder is None or len(args) != 1 or kwargs.keys() not in ({"key"}, {"default"}, {"key", "default"}):
            return beside(*args, **kwargs)
        items, key = _keyed(args[0], kwargs.get("key"))
        kwargs |= {} if key is None else {"key": key}
        items = collected(recorder, letters(recorder, as_rows(recorder, items)))
        default = (kwargs.pop("default"),) if "default" in kwargs and type(items) is TracedList else ()
        if "key" not in kwargs:
            return picked(recorder, items, lambda found: beside(found, **kwargs), *default)
        return picked(recorder, items, lambda found: _best_by(recorder, plain, found, kwargs), *default)

    return best


def _best_by(recorder: Recorder, plain: Any, items: Any, options: dict[str, Any]) -> Any:
    keys = keys_of(recorder, options["key"], items)
    if type(items) is TracedList or holds_traced(keys):
        items, objects = as_plain(items)
        found = recorder.scalar("best_by", plain.__name__ == "max", items, keys)
        return found if objects is None else objects(found)
    return plain(items, **options)


def _dict(*args: Any, **kwargs: Any) -> Any:
    """Stands for `dict`."""
    recorder = active()
    if recorder is not None and len(args) == 1 and kwargs:
        return merged(recorder, _dict(*args), kwargs)
    if recorder is None or len(args) != 1:
        return dict(*args, **kwargs)
    if issubclass(type(args[0]), TracedDict):
        return args[0].copy()
    if isinstance(args[0], dict):
        return dict(args[0])
    pairs = collected(recorder, args[0])
    if type(pairs) is TracedList and all(type(pair) in (tuple, list) for pair in pairs.concrete):
        return recorder.scalar("dict", *(each(recorder, part_of_pair(at), pairs) for at in (0, 1)))
    return to_dict(pairs)


_STAND_INS: list[tuple[Any, Callable[..., Any]]] = [
    (str, _text), (repr, _shown(repr, "r")), (ascii, _shown(ascii, "a")), (format, _format), (list, _listed),
    (zip, _zipped), (enumerate, _numbered), (range, traced_range),
    (sorted, _sorted), (sum, _of_list("total", sum)), (any, _of_list("any", any)), (all, _of_list("all", all)),
    (reversed, _reversed), (map, _mapped), (mapping.map, _mapped_by_us), (filter, _filtered), (dict, _dict),
    (math.fsum, _of_list("fsum", math.fsum)), (math.prod, _of_list("prod", math.prod)), (math.pow, power),
    (torch.nn.utils.rnn.pad_sequence, padded), (functools.reduce, reduce), (itertools.accumulate, accumulate),
    (set, to_set), (frozenset, to_set), (Counter, counted), (next, next_of), (iter, iterator_over),
    *((getattr(module, name), function) for name, (module, function) in OF_IDENTITY.items()),
    *((kind, buffer_of(kind)) for kind in (bytes, bytearray, memoryview)),
    *((getattr(itertools, name), function) for name, function in OF_ITERABLES.items()),
    *((getattr(module, name), function) for name, (module, function) in (OF_ORDERS | OF_TEXTS | OF_CODES).items()),
    *((getattr(base64, name), function) for name, function in OF_BASE64.items()),
    *CLASSES.items(), *METHODS.items(), *OF_DTYPES.items(), (Decimal, made), *OF_NUMBERS.values(),
    (json.dumps, dumps), (unicodedata.normalize, normalize),
    *((getattr(statistics, name), MODULES[name][1][name]) for name in STATISTICS),
    *((getattr(re, name), getattr(RegularExpressions(re), name)) for name in EXPRESSIONS),
]  # fmt: skip


def register() -> None:
    """Makes the stand-ins known to the code of recorded functions."""
    for plain, function in _STAND_INS:
        deep_stand_in(plain, function)
    for plain in map(own, (max, min)):
        deep_stand_in(plain, _best(plain))
