"""`next` of a generator expression, and functions of itertools, over lists of any length."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Sized
from types import GeneratorType
from typing import Any

from ..proxies.base import is_traced
from ..proxies.lists import TracedList
from ..recording.recorder import Recorder
from .loop import Loop
from .reductions import picked
from .walking.iterators import collected

MOST_BESIDE = 100_000
"""Items of an iterator beside a list of any length: one that has more counts as one without an end."""


def beside(recorder: Recorder, items: Any) -> Any:
    """What stands beside a list of any length, as a list; as an iterator where no end is in sight, as of a cycle."""
    if is_traced(items) or isinstance(items, Sized):
        return collected(recorder, items)
    iterator = iter(items)
    found = collected(recorder, itertools.islice(iterator, MOST_BESIDE + 1))
    return itertools.chain(found, iterator) if type(found) is list and len(found) > MOST_BESIDE else found


def until(recorder: Recorder, items: Any, decisive: bool) -> Iterator[Any]:
    """The items that `any` or `all` asks for: up to a plain one that decides, since what follows may have no end."""
    loops = len(recorder.rounds.open)
    for item in items:
        yield item
        plain = isinstance(item, int | float | str | None) and not is_traced(item)
        if plain and bool(item) is decisive and len(recorder.rounds.open) == loops:
            return


def goes_through_list(items: Any) -> bool:
    """Whether something is a generator expression over a list of any length that has not begun."""
    frame = items.gi_frame if type(items) is GeneratorType else None
    return frame is not None and isinstance(frame.f_locals.get(".0"), Loop)


def first(recorder: Recorder, generator: Any, *default: Any) -> Any:
    """What `next` gives of such a generator, which nobody asks again."""
    items = collected(recorder, generator)
    return picked(recorder, items, lambda found: found[0], *default)


def references(thing: Any) -> int:
    """How many references to an argument there are, as its caller's call finds them."""
    return sys.getrefcount(thing)


def are_nobodys(count: int) -> bool:
    """Whether so many references to an argument of a stand-in are those of the call: nobody goes on with it.

    How many that are depends on the version of Python, and on whether torch's compiler looks at every call.
    """
    call = _called if sys.version_info >= (3, 11) else _found  # before, code calls the stand-in itself
    return count == call((None for _ in ()), None)


def _called(*args: Any, **kwargs: Any) -> int:
    """Calls as the code of a recorded function calls a stand-in; see `redirect`."""
    return _found(*args, **kwargs)


def _found(iterator: Any, /, *_: Any) -> int:
    return references(iterator)


def listed(recorder: Recorder | None, items: Any) -> Any:
    """A list of any length that such a generator makes; anything else as it is."""
    return collected(recorder, items) if recorder is not None and goes_through_list(items) else items


def chained(recorder: Recorder, *given: Any) -> Any:
    """The items of some lists, one list after another."""
    lists = [listed(recorder, items) for items in given]
    if not any(type(items) is TracedList for items in lists) or not all(map(_is_list, lists)):
        return itertools.chain(*lists)
    found = lists[0]
    for more in lists[1:]:
        found = recorder.scalar("cat_strings", _plain(found), _plain(more))
    return found


def _is_list(items: Any) -> bool:
    return type(items) in (TracedList, list, tuple)


def _plain(items: Any) -> Any:
    return list(items) if type(items) is tuple else items


def paired(recorder: Recorder, items: Any) -> Any:
    """The items of a list, each with the one after it."""
    items = listed(recorder, items)
    if type(items) is not TracedList:
        return itertools.pairwise(items)
    later = items[1:]
    found = recorder.scalar("zip", items, later)
    found.sized_by = later.length
    return found


def sliced(recorder: Recorder, given: Any, *ends: Any) -> Any:
    """Some items of a list, as `itertools.islice` counts them."""
    items = listed(recorder, given)
    plain = all(end is None or (type(end) is int and end >= 0) for end in ends) and ends[2:] != (0,)
    if type(items) is not TracedList or not plain or len(ends) not in (1, 2, 3):
        return itertools.islice(items, *ends)
    return recorder.scalar("getitem", items, slice(*ends))
