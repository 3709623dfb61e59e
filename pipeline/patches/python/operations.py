"""What stands for an operation of a recorded function: a subscript, an f-string, `in`, `not`, a dict, a comprehension.

Python's own containers and texts know nothing of stand-ins: a list wants a plain index, an f-string a plain text. The
code of a recorded function therefore hands the operands over to the objects of this module (`instructions` says where),
which record the operation where a stand-in takes part, and leave everything else to Python.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ....ops.tracing_hook import current
from ...lists.iterating import goes_through_list, listed
from ...lists.loop import Loop
from ...lists.mapping import as_rows
from ...lists.walking.text_arrays import asks_texts, texts_at
from ...proxies.arrays import TracedArray
from ...proxies.base import is_free_shape, is_traced
from ...proxies.byte_strings import TracedBytes
from ...proxies.dicts import TracedDict
from ...proxies.lists import TracedList
from ...proxies.make import TracedOptional
from ...proxies.scalars import TracedNumber
from ...proxies.sets import TracedCounter, TracedSet
from ...proxies.sets import dict_of as growing_dict
from ...proxies.strings import TracedStr
from ...proxies.values.library_value import LibraryValue
from ...proxies.values.maybe import MaybeThing
from ...proxies.values.members import TracedMember
from ...recording.recorder import Recorder
from ...rules.number_or_tensor import number_of
from ..library.tables.asked_table import AskedTable, as_dict, table_at
from ..library.tables.chosen_functions import as_recorded
from ..library.tables.frames import labels_in, of_frames
from ..library.tables.list_indices import plain_index
from ..library.tables.tuple_keys import of_parts
from ..library.values.one_object import identical
from .conditions.own_answers import own_text, own_truth
from .entries import appended, dict_of, extended, gathered, hashable, items_of_any_length, merged, set_of, set_updated
from .loops.comprehensions import LoopPlace
from .loops.constants import rounds_over, went_through
from .loops.several import begun, note


def active() -> Recorder | None:
    """The recorder of the running function, where it may record now."""
    recorder = current()
    return recorder if isinstance(recorder, Recorder) and not recorder.busy and not recorder.printing else None


class HandedOver:
    """A function that the code of a recorded function reaches by a subscript: one form of call for all Pythons.

    Args:
        function: takes the operands.
        asks_truth: whether it asks its operand for nothing but its truth.
        keeps_sides: whether a jump after it goes where it would go without it.

    Attributes:
        of_none: what it gives for None, where it compares with None.
        of_identity: whether it compares two things by identity.
        keeps_nothing: whether it only looks at the variables that it is given in a tuple.
        passes: whether it gives what stands for the thing itself, for a loop that goes through it.
    """

    keeps_nothing = passes = False
    of_none: bool | None = None
    of_identity = False

    def __init__(self, function: Callable[[Any], Any], asks_truth: bool = False, keeps_sides: bool = False) -> None:
        self.function, self.asks_truth, self.keeps_sides = function, asks_truth, keeps_sides

    def __getitem__(self, operands: Any) -> Any:
        return self.function(operands)


def holds_traced(tree: Any) -> bool:
    """Whether a tree of containers holds a stand-in."""
    if is_traced(tree):
        return True
    if type(tree) in (tuple, list):
        return any(map(holds_traced, tree))
    if type(tree) is dict:
        return any(map(holds_traced, tree)) or any(map(holds_traced, tree.values()))
    return type(tree) is slice and holds_traced((tree.start, tree.stop, tree.step))


# -- subscripts ----------------------------------------------------------------------------------------------------


_TABLES = (list, tuple, dict, str, np.ndarray)


def _subscript(operands: Any) -> Any:
    container, key = operands
    recorder = active()
    if type(key) is TracedMember and type(container) is dict:
        container, key = key.table(container), key.key
    key = plain_index(recorder, container, key)
    if type(container) not in _TABLES:
        container, key = of_frames(recorder, container, key)
    if recorder is not None and holds_traced(key):
        container, key = table_at(recorder, container, key)
    if recorder is None or type(container) not in _TABLES:
        return key, container
    if type(container) is dict:
        container, key = of_parts(recorder, container, key)
    if type(container) in (list, tuple, str):
        key = number_of(recorder, key)
    if asks_texts(recorder, container, key):
        return slice(None), texts_at(recorder, container, key)
    of_arrays = (TracedNumber, TracedArray, tuple)
    if not holds_traced(key) or (type(container) is np.ndarray and not isinstance(key, of_arrays)):
        return key, container
    return key, AskedTable(recorder, container)


# -- texts ---------------------------------------------------------------------------------------------------------


def formatted(value: Any, spec: Any = "", conversion: str = "") -> Any:
    """A value as text, recorded where it is traced."""
    recorder = active()
    if recorder is not None:
        if issubclass(type(value), LibraryValue | TracedMember):
            return value.in_text(spec, conversion)
        if (found := own_text(value, spec, conversion)) is not None:
            return formatted(found, spec)
        value = number_of(recorder, value) if not conversion else value
        if is_free_shape(value):
            parts = ("torch.Size(", recorder.scalar("format", list(value), "", "r"), ")")
            value, conversion = recorder.scalar("join_texts", *parts), ""
        if (holds_traced(value) and type(value) is not TracedArray) or is_traced(spec):
            if type(value) is TracedStr and not conversion and type(spec) is str and not spec:
                return value
            return recorder.scalar("format", value, spec, conversion)
    if conversion:
        value = {"r": repr, "a": ascii}.get(conversion, str)(value)
    return format(value, spec)


def joined(parts: Any) -> Any:
    """Some texts as one, recorded where one is traced."""
    recorder = active()
    if recorder is None or not any(map(is_traced, parts)):
        return "".join(parts)
    return recorder.scalar("join_texts", *parts)


# -- truth ---------------------------------------------------------------------------------------------------------

_OWN = (TracedStr, TracedList, TracedDict, TracedCounter, TracedOptional)


def _contains(operands: Any) -> Any:
    item, container = operands
    recorder = active()
    if recorder is not None:
        if type(container) is TracedSet:
            container = container.items if container.table is None else container.table
        container = labels_in(as_dict(container), item) if holds_traced(item) else container
        if type(container) in _OWN:
            return recorder.scalar("contains", container, item)
        if type(container) is TracedBytes:
            return container.holds(item)
        if type(item) is TracedMember and type(container) in (list, tuple, set, frozenset, dict):
            item, container = item.key, list(item.table(dict.fromkeys(container)))
        if type(container) in (list, tuple, set, frozenset, dict):
            plain = sorted(container, key=repr) if isinstance(container, set | frozenset) else container
            container, item = of_parts(recorder, plain, item)
        container = list(container) if is_free_shape(container) else container
        if type(container) in (list, tuple, set, frozenset, dict, str) and (is_traced(item) or holds_traced(container)):
            items = container if isinstance(container, str) else list(container)
            return recorder.scalar("contains", items, item)
    return item in container


def _misses(operands: Any) -> Any:
    return negated(_contains(operands))


def negated(thing: Any) -> Any:
    """What stands for `not`."""
    recorder = active()
    if recorder is not None:
        thing = truth_of(recorder, thing)
        if issubclass(type(thing), TracedNumber):
            return recorder.scalar("not_", thing)
    return not thing


# -- dicts ---------------------------------------------------------------------------------------------------------


def _hashable(key: Any) -> Any:
    return hashable(active(), key)


def to_dict(items: Any) -> Any:
    """The dict of some pairs, recorded where a key is traced."""
    return dict_of(active(), items)


def _map_of(items: Any) -> Any:
    return to_dict(zip(items[::2], items[1::2], strict=True))


# -- comprehensions ------------------------------------------------------------------------------------------------


def iterator_of(items: Any, place: Any = None, into: list[Any] | None = None) -> Any:
    """The iterator of a loop: of the graph where it goes through a list of any length."""
    recorder = active()
    items = as_rows(recorder, items)
    if recorder is not None and type(items) is TracedStr:
        items = recorder.scalar("list", items)
    items = items.tensor.tolist() if type(items) is TracedBytes else items
    items = items.keys() if issubclass(type(items), TracedDict) else listed(recorder, items)
    items = items if recorder is None or is_traced(items) else rounds_over(recorder, items, sys._getframe(3))
    if recorder is not None and type(place) is LoopPlace and place.several:
        return begun(recorder, items, place)
    return items if recorder is None or type(items) is not TracedList else Loop(recorder, items, place, into)


def _collected(result: Any) -> Any:
    recorder = active()
    loop = None if recorder is None else recorder.rounds.closing
    if recorder is not None and loop is not None and loop.frame is sys._getframe(2):
        found = gathered(recorder, loop, result)
        went_through(loop)
        return found
    if type(result) is set:
        return set_of(recorder, result)
    return to_dict(result.items()) if type(result) is dict else result


def noting(place: LoopPlace, pair: bool = False) -> HandedOver:
    """What takes note of a result of a comprehension with several loops; a pair goes back as Python unpacks it."""

    def noted(result: Any) -> Any:
        recorder = active()
        if recorder is not None:
            note(recorder, result, place, sys._getframe(2))
        return result[::-1] if pair else result

    return HandedOver(noted)


def _filtered(wanted: bool, place: Any) -> Callable[[Any], Any]:
    def condition(found: Any) -> Any:
        recorder = active()
        loop = None if recorder is None or not recorder.rounds.open else recorder.rounds.open[-1]
        if recorder is None or loop is None or loop.closed:
            return found
        if loop.place != place or loop.frame is not sys._getframe(2):
            return found  # of a comprehension over another list, inside of that loop
        found = truth_of(recorder, found)
        if issubclass(type(found), TracedNumber):
            loop.filter(found if wanted else recorder.scalar("not_", found))
            return wanted
        loop.way.left_out |= bool(found) is not wanted
        return found

    return condition


def truth_of(recorder: Recorder, found: Any) -> Any:
    """A condition as a number of the recording, where it is of the recording."""
    found = found.length() != 0 if type(found) is TracedBytes else found
    found = found.truth() if type(found) is MaybeThing else own_truth(recorder, number_of(recorder, found))
    return recorder.scalar("bool", found) if type(found) in _OWN else found


def _identical(operands: Any) -> Any:
    return identical(active(), *operands)


IS, IS_NOT = HandedOver(_identical), HandedOver(lambda operands: negated(_identical(operands)))
IS.of_identity = IS_NOT.of_identity = True


INDEXED = HandedOver(lambda pair: (plain_index(active(), *pair), pair[0]))
SUBSCRIPT, JOINED, CONTAINS, MISSES = map(HandedOver, (_subscript, joined, _contains, _misses))
ADDED = {
    "LIST_EXTEND": HandedOver(lambda pair: extended(active(), *pair)),
    "LIST_APPEND": HandedOver(lambda pair: appended(active(), *pair)),
    "SET_UPDATE": HandedOver(lambda pair: set_updated(active(), *pair)),
    "SET_ADD": HandedOver(lambda pair: set_updated(active(), pair[0], pair[1:])),
    "DICT_UPDATE": HandedOver(lambda pair: merged(active(), *pair)),
}
"""What takes a container that is being made, and what goes into it."""


def _added(items: Any) -> Any:
    recorder = active()
    return items if recorder is None or not goes_through_list(items) else items_of_any_length(recorder, items)


def _united(operands: Any) -> Any:
    one, other = operands
    recorder = active()
    if recorder is None or type(one) is not dict or not issubclass(type(other), TracedDict):
        return other, one
    return other, growing_dict(recorder, one)


ADDEND, UNITED = HandedOver(_added), HandedOver(_united)
"""What gives the right side of ``items += more``, and both sides of ``table |= more``, the left one last."""
SET = HandedOver(lambda items: set_updated(active(), set(), items))
PLAIN = HandedOver(lambda items: items.as_arguments() if type(items) is TracedList else items)
KEY, MAP, COLLECTED = map(HandedOver, (_hashable, _map_of, _collected))
NOT = HandedOver(negated, asks_truth=True)
CALLEE = HandedOver(lambda function: function if active() is None else as_recorded(function))


def iterated(place: LoopPlace) -> HandedOver:
    """What makes the iterator of a loop of a comprehension."""
    return HandedOver(lambda items: iterator_of(items, place))


def appended_to(place: int) -> HandedOver:
    """What makes the iterator of a loop that appends to a list; it takes both."""
    return HandedOver(lambda pair: iterator_of(pair[0], place, pair[1]))


def conditional(wanted: bool, place: LoopPlace) -> HandedOver:
    """What takes a condition of a comprehension, which goes on with the item where the condition is as wanted."""
    return HandedOver(_filtered(wanted, place), asks_truth=True, keeps_sides=True)


def _formatting(conversion: str) -> HandedOver:
    return HandedOver(lambda pair: formatted(pair[0], pair[1], conversion))


def _converting(conversion: str) -> HandedOver:
    return HandedOver(lambda thing: formatted(thing, "", conversion))


FORMATTED = {conversion: _formatting(conversion) for conversion in ("", "s", "r", "a")}
CONVERTED = {conversion: _converting(conversion) for conversion in ("s", "r", "a")}
