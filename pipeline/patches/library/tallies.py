"""What stands for `set`, `dict.fromkeys`, `Counter` and `chain.from_iterable` of lists of any length."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

from ...lists.walking.iterators import collected
from ...proxies.base import is_traced
from ...proxies.dicts import TracedDict
from ...proxies.lists import TracedList
from ...proxies.sets import TracedCounter, TracedSet
from ...proxies.strings import TracedStr
from ...recording.recorder import Recorder
from ..python.choices.sides import KINDS, kind_of
from ..python.operations import active


def _listed(recorder: Recorder, items: Any) -> Any:
    """The items as a list of any length, where they are one."""
    if type(items) is TracedStr:
        return recorder.scalar("list", items)
    found = items.keys() if type(items) is TracedDict else collected(recorder, items)
    kinds = set(map(kind_of, found)) if type(found) in (list, tuple) and any(map(is_traced, found)) else set()
    if len(kinds) == 1 and kinds <= set(KINDS):
        return recorder.scalar("list", list(found))  # what data decides is no key of a dict
    return found


def to_set(*args: Any) -> Any:
    """Stands for `set` and `frozenset`."""
    recorder = active()
    if recorder is None or len(args) != 1:
        return set(*args)
    if type(args[0]) is TracedSet:
        return args[0]
    found = _listed(recorder, args[0])
    return TracedSet(recorder, recorder.scalar("unique", found)) if type(found) is TracedList else set(found)


def counted(*args: Any, **options: Any) -> Any:
    """Stands for `Counter`."""
    recorder = active()
    if recorder is None or len(args) != 1 or options:
        return Counter(*args, **options)
    found = _listed(recorder, args[0])
    if type(found) is not TracedList:
        return Counter(found)
    made = recorder.scalar("counts", found)
    return TracedCounter(recorder, made.value, made.concrete, made.varies)


def from_keys(keys: Any, value: Any = None) -> Any:
    """Stands for `dict.fromkeys`."""
    recorder = active()
    if recorder is None:
        return dict.fromkeys(keys, value)
    found = _listed(recorder, keys)
    if type(found) is not TracedList:
        return dict.fromkeys(found, value)
    return recorder.scalar("from_keys", found, value)


def flattened(lists: Any) -> Any:
    """Stands for `itertools.chain.from_iterable`."""
    recorder = active()
    if recorder is None:
        return itertools.chain.from_iterable(lists)
    found = collected(recorder, lists)
    if type(found) is not TracedList or not all(type(each) is list for each in found.concrete):
        return itertools.chain.from_iterable(found)
    return recorder.scalar("total", found, [])
