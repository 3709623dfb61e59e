"""`functools.reduce`, `itertools.accumulate`, and the default of `max` and `min`, over lists of any length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from ...ops.graph.traverse import leaves
from ...ops.graph.types import SCALARS, STRINGS
from ..proxies.lists import TracedList
from ..proxies.sets import TracedCounter
from ..proxies.trees import same_container
from ..proxies.values.maybe import MaybeThing
from ..recording.recorder import Recorder
from .carried import Carried
from .fold import Fold

Step = Callable[[Any, Any], Any]
"""A function of two, which must not change the first one in place: what the function begins with has another name."""


def reduced(recorder: Recorder, function: Step, items: TracedList, *initial: Any) -> Any:
    """What a function of two makes of a list, one item after another."""
    start, rest = _begun(recorder, items, *initial)
    loop = Fold(recorder, rest)
    (found,) = loop.turn((start,), Carried(("found",), known=frozenset((0,))))
    for item in loop:
        (found,) = loop.turn((function(found, item),))
    return found


def accumulated(recorder: Recorder, function: Step, items: TracedList, *initial: Any) -> Any:
    """The list of all that a function of two makes of a list on the way."""
    shown = next(iter(items.concrete or items.samples), None)
    may_be_empty = not initial and type(shown) in SCALARS
    begun = recorder.scalar("cat_strings", items.as_it_is(), [_blank(shown)]) if may_be_empty else items
    start, rest = _begun(recorder, begun, *initial)
    if may_be_empty:
        rest = recorder.scalar("getitem", items.as_it_is(), slice(1, None))
    loop = Fold(recorder, rest)
    found, out = loop.turn((start, [start]), Carried(("found", "out"), growing=frozenset((1,)), known=frozenset((0,))))
    for item in loop:
        found = function(found, item)
        out.append(found)
        found, out = loop.turn((found, out))
    return recorder.scalar("getitem", out, slice(0, items.length())) if may_be_empty else out


def _tallied(counter: TracedCounter, other: Any) -> Any:
    """A Counter with the items of a list, too, or with the counts of another one."""
    pairs, recorder = issubclass(type(other), TracedCounter), cast(Recorder, counter.tracer)
    loop = Fold(recorder, other.items() if pairs else other)
    (found,) = loop.turn((counter.like(counter.value, counter.concrete),), Carried(("found",), frozenset((0,))))
    for item in loop:
        key, count = item if pairs else (item, 1)
        found[key] = found[key] + count
        (found,) = loop.turn((found,))
    return found


TracedCounter.tallied = staticmethod(_tallied)


def _begun(recorder: Recorder, items: TracedList, *initial: Any) -> tuple[Any, TracedList]:
    """What a reduction begins with, and the items that follow."""
    if initial:
        return initial[0], items
    given, items.given = items.given, False  # this place of an argument is in a list of any length, too
    try:
        return items[0], recorder.scalar("getitem", items, slice(1, None))
    finally:
        items.given = given


def with_default(recorder: Recorder, items: TracedList, default: Any) -> Any:
    """The list, or one that holds the default where the list is empty."""
    if isinstance(default, getattr(items.objects, "kind", ())):
        default = items.objects.plain(default)
    elif default is not None and hasattr(items.objects, "kind"):
        recorder.refuse("the default is of another kind than the items of a list", "Give one of the same kind.")
    kinds = {type(item) for item in items.concrete}
    if default is None and items.objects is None:
        return _with_none(recorder, items)
    if kinds and kinds != {type(recorder.concrete(default))}:
        recorder.refuse("the default is of another kind than the items of a list", "Give one of the same kind.")
    more = recorder.scalar("cat_strings", items, [default])
    found = recorder.scalar("getitem", more, slice(0, recorder.scalar("max", items.length(), 1)))
    found.objects = items.objects
    return found


def picked(recorder: Recorder, items: Any, pick: Callable[[Any], Any], *default: Any) -> Any:
    """What is picked from a list, or a default where that is empty: None beside tuples, dicts and objects, too.

    Args:
        recorder: of the recording.
        items: the list.
        pick: gives an item of one that is not empty.
        default: what stands for it elsewhere; nothing where the list is never empty.
    """
    if not default or type(items) is not TracedList:
        return pick(items)
    shown = next(iter(items.concrete or items.samples), None)
    if (
        default != (None,)
        or not isinstance(shown, tuple | dict)
        or not all(type(leaf) in SCALARS for leaf in leaves(shown))
    ):
        return pick(with_default(recorder, items, *default))
    missing = recorder.scalar("eq", items.length(), 0)
    more = recorder.scalar("cat_strings", items.as_it_is(), [_blank(shown)])
    more.objects = items.objects
    found = recorder.scalar("getitem", more, slice(0, recorder.scalar("max", items.length(), 1)))
    found.objects = items.objects
    return MaybeThing(recorder, missing, pick(found))


def _blank(thing: Any) -> Any:
    """What is picked where there is no item: one of the same form, and a constant whatever the example has."""
    if isinstance(thing, tuple):
        return same_container(thing, list(map(_blank, thing)))
    return {key: _blank(part) for key, part in thing.items()} if isinstance(thing, dict) else type(thing)()


def _with_none(recorder: Recorder, items: TracedList) -> Any:
    """The list, or one that holds None where the list is empty: its items are numbers or texts."""
    sample = items.with_none if items.with_none is not None else next(iter(items.concrete), None)
    sample = "" if sample is None and items.value.type == STRINGS else sample
    if type(sample) not in SCALARS:
        recorder.refuse(
            "None stands for an item of a list that shows no number and no text",
            "Trace with an example that has an item, or give a default of the kind of the items.",
        )
    more = recorder.scalar("cat_strings", items, [None])
    more.with_none = sample
    return recorder.scalar("getitem", more, slice(0, recorder.scalar("max", items.length(), 1)))
