"""What unpacks a list of any length: ``first, *rest = text.split()``, ``max(*scores)``, and pairs that `dict` takes.

Where it has another number of items Python raises an error, and a run of the file does, too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ...lists.iterating import listed
from ...proxies.base import is_traced
from ...proxies.lists import TracedList
from ...proxies.strings import TracedStr
from ...recording.recorder import Recorder
from ...rules.assertions import required
from ..print import prints
from ..redirect import called_name
from .entries import items_of_any_length
from .operations import HandedOver, active


def part_of_pair(place: int) -> Callable[[Any], Any]:
    """The function that gives the item at a place of a pair, which may be a list of two."""

    def part(pair: Any) -> Any:
        recorder = active()
        if recorder is not None and type(pair) is TracedList:
            required(recorder, recorder.scalar("eq", pair.length(), 2), "dict takes pairs")
        return pair[place]

    return part


def _generated(items: Any) -> Any:
    """A list of any length that a generator makes; anything else as it is."""
    return listed(active(), items)


GENERATED = HandedOver(_generated)
"""What takes what a generator expression made, before it is unpacked."""


@lru_cache
def starred(before: int, after: int) -> HandedOver:
    """What unpacks the items of a list around those of a starred name.

    Args:
        before: the number of names before that.
        after: the number of those after it.
    """

    def unpacked(given: Any) -> tuple[Any, ...]:
        recorder = active()
        items = listed(recorder, given)
        if recorder is not None and type(items) is TracedStr:
            items = recorder.scalar("list", items)
        least = before + after
        if recorder is None or type(items) is not TracedList:
            items = [*items]
            if len(items) < least:
                raise ValueError(f"not enough values to unpack (expected at least {least}, got {len(items)})")
        elif not required(
            recorder, recorder.scalar("ge", items.length(), least), f"the function unpacks {least} values at least"
        ):
            raise ValueError(f"not enough values to unpack (expected at least {least}, got {len(items.concrete)})")
        rest = items[before : -after if after else None]
        return (*(items[at] for at in range(before)), rest, *(items[at] for at in range(-after, 0)))

    return HandedOver(unpacked)


def _spread(given: tuple[Any, ...]) -> tuple[Any, ...]:
    """A function and what it is called with, ``f(*items)``, in the order in which Python unpacks that."""
    callee, items, *named = given
    recorder = active()
    if recorder is not None and type(items) not in (tuple, list):
        items = _as_arguments(recorder, callee, items, *named)
    return (*named, items, callee)


_OF_SEVERAL = ("max", "min")


def _as_arguments(recorder: Recorder, callee: Any, given: Any, named: Any = None) -> Any:
    """The arguments of a function that asks for them as a list, too: of any length there; else the items."""
    name, names = called_name(callee), set(named or ())
    if not prints(callee) and (name not in _OF_SEVERAL or not names <= {"key"}):
        return _as_they_stand(given)
    items = items_of_any_length(recorder, given)
    if type(items) is not TracedList:
        return items
    if prints(callee):
        return tuple(recorder.concrete(items)) if items.objects is None and "file" not in names else items
    length = items.length()
    if not is_traced(length):
        return (items,) if length >= _LEAST else items
    several = required(recorder, recorder.scalar("ge", length, _LEAST), f"{name}(*items) takes two items or more")
    return (items,) if several else items


def _as_they_stand(given: Any) -> Any:
    """The arguments of ``f(first, *items)``: what stands before the items stays what it is, as a constant does."""
    made = given.made_of if type(given) is TracedList else None
    return given if made is None or made[2] is not given.value else (*made[0], *made[1])


_LEAST = 2  # of one item `max` asks for the items in it
_TURNED = sys.version_info >= (3, 13)  # `replaced_call` has the function on top then
SPREAD = HandedOver(lambda given: _spread(given[::-1])[::-1] if _TURNED else _spread(given))
"""What takes a function and the items that it is called with, and gives both."""
AS_TUPLE = HandedOver(lambda items: items if type(items) is TracedList else tuple(items))
"""What makes the arguments of a call of a list: of ``f(first, *items)``."""
