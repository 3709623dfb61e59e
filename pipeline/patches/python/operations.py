"""What stands for an operation of a recorded function: a subscript, an f-string, `in`, `not`, a dict, a comprehension.

Python's own containers and texts know nothing of stand-ins: a list wants a plain index, an f-string a plain text. The
code of a recorded function therefore hands the operands over to the objects of this module (`instructions` says where),
which record the operation where a stand-in takes part, and leave everything else to Python.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy as np
import torch

from ....ops.tracing_hook import current
from ...lists.carried import Carried
from ...lists.fold import Fold
from ...lists.iterating import listed
from ...lists.loop import Loop
from ...lists.mapping import each, rows_of
from ...lists.plain_tables import columns, plain_table
from ...proxies.arrays import TracedArray
from ...proxies.base import is_traced
from ...proxies.lists import TracedDict, TracedList
from ...proxies.scalars import TracedNumber
from ...proxies.strings import TracedStr
from ...recording.recorder import Recorder
from ...rules.assertions import required


def active() -> Recorder | None:
    """The recorder of the running function, where it may record now."""
    recorder = current()
    return recorder if isinstance(recorder, Recorder) and not recorder.busy and not recorder.printing else None


class HandedOver:
    """A function that the code of a recorded function reaches by a subscript: one form of call for all Pythons."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

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


def number_of(recorder: Recorder, thing: Any) -> Any:
    """A tensor of no dimensions as a traced number; any other thing as it is."""
    if isinstance(thing, torch.Tensor) and thing in recorder.values:
        with torch._C.DisableTorchFunction():
            single = thing.dim() == 0
        if single and recorder.rank(thing) == 0:
            return recorder.scalar("item", thing)
    return thing


# -- subscripts ----------------------------------------------------------------------------------------------------


class AskedTable:
    """Stands for a plain container that is asked for an entry by a traced key."""

    def __init__(self, recorder: Recorder, plain: Any) -> None:
        self.recorder, self.plain = recorder, plain

    def __getitem__(self, key: Any) -> Any:
        recorder, plain = self.recorder, self.plain
        if isinstance(plain, np.ndarray) and plain.dtype.kind in "biufc":
            return recorder.array("py.getitem", plain, key)
        if isinstance(plain, str) or (type(key) is slice and type(plain) is list):
            return recorder.scalar("getitem", plain, key)
        if type(plain) in (list, tuple) and any(map(is_traced, plain)):
            return recorder.scalar("getitem", list(plain), key)
        if (parts := columns(plain)) is not None:
            return tuple(AskedTable(recorder, part)[key] for part in parts)
        return recorder.scalar("lookup", plain_table(recorder, plain), key)

    def get(self, key: Any, default: Any = None) -> Any:
        """As for dict."""
        if default is None:
            return self[key] if self._has(key) else None
        parts = columns(self.plain)
        if parts is not None and type(default) is tuple and len(default) == len(parts):
            return tuple(
                AskedTable(self.recorder, part).get(key, each) for part, each in zip(parts, default, strict=True)
            )
        return self.recorder.scalar("lookup", plain_table(self.recorder, self.plain), key, default)

    def _has(self, key: Any) -> bool:
        """Whether the table has the key, guarded: what `get` then gives, None or an entry, is of two types."""
        if key.varies or self.recorder.rounds.open:
            self.recorder.refuse(
                "table.get(key) gives None for a key that is missing, which cannot be followed",
                "Give a default of the kind that the entries have: table.get(key, default).",
            )
        held = self.recorder.scalar("contains", list(self.plain), key)
        return bool(self.recorder.pin(held, "the function goes on by whether the table has the key"))

    def index(self, item: Any) -> Any:
        """As for list."""
        places = {entry: place for place, entry in reversed(list(enumerate(self.plain)))}
        return self.recorder.scalar("lookup", places, item)


_TABLES = (list, tuple, dict, str, np.ndarray)


def _subscript(operands: Any) -> Any:
    container, key = operands
    recorder = active()
    if recorder is None or type(container) not in _TABLES:
        return key, container
    if type(container) in (list, tuple, str):
        key = number_of(recorder, key)
    if isinstance(container, np.ndarray) and container.dtype.kind == "U" and type(key) is TracedArray:
        recorder.refuse("an array of texts was asked by an array", "Write a list: [texts[i] for i in ids.tolist()].")
    of_array = isinstance(container, np.ndarray) and not isinstance(key, TracedNumber | TracedArray)  # or a view
    if not holds_traced(key) or of_array:
        return key, container
    return key, AskedTable(recorder, container)


# -- texts ---------------------------------------------------------------------------------------------------------


def formatted(value: Any, spec: Any = "", conversion: str = "") -> Any:
    """A value as text, recorded where it is traced."""
    recorder = active()
    if recorder is not None:
        value = number_of(recorder, value) if not conversion else value
        if (holds_traced(value) and type(value) is not TracedArray) or is_traced(spec):
            if type(value) is TracedStr and not conversion and type(spec) is str and not spec:
                return value
            return recorder.scalar("format", value, spec, conversion)
    if conversion:
        value = {"r": repr, "a": ascii}.get(conversion, str)(value)
    return format(value, spec)


def _joined(parts: Any) -> Any:
    recorder = active()
    if recorder is None or not any(map(is_traced, parts)):
        return "".join(parts)
    return recorder.scalar("join_texts", *parts)


# -- truth ---------------------------------------------------------------------------------------------------------

_OWN = (TracedStr, TracedList, TracedDict)


def _contains(operands: Any) -> Any:
    item, container = operands
    recorder = active()
    if recorder is not None:
        if type(container) in _OWN:
            return recorder.scalar("contains", container, item)
        if type(container) in (list, tuple, set, frozenset, dict, str) and (is_traced(item) or holds_traced(container)):
            if isinstance(container, set | frozenset):
                container = sorted(container, key=repr)
            items = container if isinstance(container, str) else list(container)
            return recorder.scalar("contains", items, item)
    return item in container


def _misses(operands: Any) -> Any:
    return _not(_contains(operands))


def _not(thing: Any) -> Any:
    recorder = active()
    if recorder is not None:
        thing = number_of(recorder, thing)
        if issubclass(type(thing), TracedNumber):
            return recorder.scalar("not_", thing)
    return not thing


# -- dicts ---------------------------------------------------------------------------------------------------------


class TracedKey:
    """A traced key, for as long as a dict is built."""

    def __init__(self, key: Any) -> None:
        self.key = key


def _hashable(key: Any) -> Any:
    recorder = active()
    return TracedKey(key) if recorder is not None and is_traced(key) else key


def to_dict(items: Any) -> Any:
    """The dict of some pairs, recorded where a key is traced."""
    recorder = active()
    pairs = [(key.key if isinstance(key, TracedKey) else key, item) for key, item in items]
    if recorder is None or not any(is_traced(key) for key, _ in pairs):
        return dict(pairs)
    return recorder.scalar("dict", [key for key, _ in pairs], [item for _, item in pairs])


def _map_of(items: Any) -> Any:
    return to_dict(zip(items[::2], items[1::2], strict=True))


# -- comprehensions ------------------------------------------------------------------------------------------------


def _iterated(items: Any, place: int | None = None, into: list[Any] | None = None) -> Any:
    recorder = active()
    if recorder is not None and isinstance(items, torch.Tensor) and items in recorder.values and recorder.rank(items):
        items = rows_of(recorder, items)
    if recorder is not None and type(items) is TracedStr:
        items = recorder.scalar("list", items)
    return items if recorder is None or type(items) is not TracedList else Loop(recorder, items, place, into)


def _collected(result: Any) -> Any:
    recorder = active()
    loop = None if recorder is None else recorder.rounds.closing
    if recorder is not None and isinstance(loop, Loop) and loop.frame is sys._getframe(2):
        if type(result) is not dict:
            return loop.gathered(result)
        pairs = loop.gathered([[key.key if isinstance(key, TracedKey) else key, item] for key, item in result.items()])
        keys, entries = (each(recorder, itemgetter(index), pairs) for index in (0, 1))
        return recorder.scalar("dict", keys, entries)
    return to_dict(result.items()) if type(result) is dict else result


def _extended(operands: Any) -> Any:
    recorder = active()
    items, more = operands[0], listed(recorder, operands[1])
    if recorder is None or not (type(items) is TracedList or type(more) is TracedList):
        items.extend(more)
        return items
    return recorder.scalar("cat_strings", items, more if type(more) is TracedList else list(more))


def _appended(operands: Any) -> Any:
    items, item = operands
    if type(items) is list:
        items.append(item)
        return items
    return _extended((items, [item]))


def _plain_list(items: Any) -> Any:
    return list(items) if type(items) is TracedList else items


def _filtered(wanted: bool, place: int | None) -> Callable[[Any], Any]:
    def condition(found: Any) -> Any:
        recorder = active()
        loop = None if recorder is None or not recorder.rounds.open else recorder.rounds.open[-1]
        if recorder is None or loop is None or loop.closed:
            return found
        if loop.place != place or loop.frame is not sys._getframe(2):
            return found  # of a comprehension over another list, inside of that loop
        found = number_of(recorder, found)
        if type(found) in _OWN:
            found = recorder.scalar("bool", found)
        if issubclass(type(found), TracedNumber):
            loop.filter(found if wanted else recorder.scalar("not_", found))
            return wanted
        return found

    return condition


# -- assertions ----------------------------------------------------------------------------------------------------


def asserted(found: Any) -> Any:
    """A condition that must hold in every run."""
    recorder = active()
    if recorder is None:
        return found
    found = number_of(recorder, found)
    if issubclass(type(found), TracedNumber):
        return required(recorder, found, "an assertion of the function fails")
    return found


SUBSCRIPT, JOINED, CONTAINS, MISSES = map(HandedOver, (_subscript, _joined, _contains, _misses))
EXTENDED, APPENDED, PLAIN = map(HandedOver, (_extended, _appended, _plain_list))
NOT, KEY, MAP, COLLECTED = map(HandedOver, (_not, _hashable, _map_of, _collected))
ASSERTED = HandedOver(asserted)


def iterated(place: int | None) -> HandedOver:
    """What makes the iterator of a comprehension, which is the only one of its code where `place` is None."""
    return HandedOver(lambda items: _iterated(items, place))


def _folded(items: Any) -> Any:
    found = _iterated(items)
    return Fold(found.recorder, found.source) if type(found) is Loop else found


FOLDED = HandedOver(_folded)
"""What makes the iterator of a loop that carries values."""


def turned(carried: Carried) -> HandedOver:
    """What takes the iterator and the values that a loop carries before each round, and gives those of the round."""

    def turn(values: Any) -> Any:
        loop, *found = values
        return loop.turn(tuple(found), carried) if type(loop) is Fold else tuple(found)

    return HandedOver(turn)


def appended_to(place: int) -> HandedOver:
    """What makes the iterator of a loop that appends to a list; it takes both."""
    return HandedOver(lambda pair: _iterated(pair[0], place, pair[1]))


def conditional(wanted: bool, place: int | None) -> HandedOver:
    """What takes a condition of a comprehension, which goes on with the item where the condition is as wanted."""
    return HandedOver(_filtered(wanted, place))


def _formatting(conversion: str) -> HandedOver:
    return HandedOver(lambda pair: formatted(pair[0], pair[1], conversion))


def _converting(conversion: str) -> HandedOver:
    return HandedOver(lambda thing: formatted(thing, "", conversion))


FORMATTED = {conversion: _formatting(conversion) for conversion in ("", "s", "r", "a")}
CONVERTED = {conversion: _converting(conversion) for conversion in ("s", "r", "a")}
