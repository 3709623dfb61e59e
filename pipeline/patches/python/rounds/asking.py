"""What stands for `iter` and `next`, and what a loop or a function goes through."""

from __future__ import annotations

from typing import Any

from ....lists.iterating import are_nobodys, first, goes_through_list, listed, references
from ....lists.mapping import as_rows
from ....lists.reductions import picked
from ....lists.walking.iterators import ListIterator
from ....proxies.dicts import TracedDict
from ....proxies.lists import TracedList
from ....proxies.strings import TracedStr
from ....recording.recorder import Recorder
from ..operations import active


def letters(recorder: Recorder | None, items: Any) -> Any:
    """The letters of a text in a list; anything else as it is."""
    return recorder.scalar("list", items) if recorder is not None and type(items) is TracedStr else items


def gone_through(recorder: Recorder, items: Any) -> Any:
    """What a loop goes through, as a list of any length where it is one; else as it is."""
    if type(items) is TracedStr:
        return recorder.scalar("list", items)
    return listed(recorder, as_rows(recorder, items))


def next_of(iterator: Any, /, *default: Any) -> Any:
    """Stands for `next`."""
    recorder, alone = active(), are_nobodys(references(iterator))
    if recorder is None:
        return next(iterator, *default)
    if type(iterator) is ListIterator:
        return iterator.asked(picked, *default)
    if type(iterator) is TracedList:  # of reversed or zip, which Python gives an iterator for
        if not alone:
            recorder.refuse(
                "next asks what reversed, zip, map or enumerate gave", "Write it = iter(…) of that, and next(it)."
            )
        return ListIterator(recorder, iterator).asked(picked, *default)
    if alone and goes_through_list(iterator):
        return first(recorder, iterator, *default)
    if recorder.rounds.open and not alone:
        recorder.refuse(
            "a loop of any length asks an iterator over constants, which goes on in every round",
            "Go through the constants by a number: items[i].",
        )
    return next(iterator, *default)


def iterator_over(*args: Any) -> Any:
    """Stands for `iter`."""
    recorder = active()
    if recorder is None or len(args) != 1 or type(args[0]) is ListIterator:
        return iter(*args)
    items = gone_through(recorder, args[0])
    items = items.keys() if issubclass(type(items), TracedDict) else items
    return ListIterator(recorder, items) if type(items) is TracedList else iter(items)
