"""The entries of a dict or a set while code of Python makes it, where their keys are decided at run time.

Python wants to hash a key at once. Each goes in under an object of its own instead, and the keys are taken from these
when the container is made: then their order, and which of them are equal, is known to the graph.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable
from operator import itemgetter
from typing import Any

from ....ops.graph.graph import Operator
from ...lists.iterating import listed
from ...lists.loop import Loop
from ...lists.mapping import as_rows, each
from ...lists.ways import Way
from ...proxies.base import is_traced
from ...proxies.dicts import TracedDict
from ...proxies.lists import TracedList
from ...proxies.sets import TracedSet
from ...proxies.sets import dict_of as growing_dict
from ...proxies.strings import TracedStr
from ...proxies.values.changing import Growing
from ...recording.recorder import Recorder
from ..library.tables.list_indices import plain_index
from .loops.several import NestedLoop, PlainFor

_numbers = itertools.count()


class TracedKey:
    """A key for as long as a dict or a set is built; the number tells the order in which a set got them."""

    def __init__(self, key: Any) -> None:
        self.key, self.number = key, next(_numbers)


def hashable(recorder: Recorder | None, key: Any) -> Any:
    """What Python's container gets for a key: in a loop of the graph each round adds one, also of equal keys."""
    return key if recorder is None or not (recorder.rounds.open or is_traced(key)) else TracedKey(key)


def _key(key: Any) -> Any:
    return key.key if isinstance(key, TracedKey) else key


def dict_of(recorder: Recorder | None, items: Iterable[tuple[Any, Any]]) -> Any:
    """The dict of some pairs, recorded where a key is traced."""
    pairs = [(_key(key), item) for key, item in items]
    if recorder is None or not any(is_traced(key) for key, _ in pairs):
        return dict(pairs)
    found = recorder.scalar("dict", [key for key, _ in pairs], [item for _, item in pairs])
    found.pairs = pairs
    return found


def set_of(recorder: Recorder | None, items: set[Any]) -> Any:
    """The set of some items, recorded where one is traced."""
    if recorder is None or not any(isinstance(item, TracedKey) for item in items):
        return items
    plain = sorted((item for item in items if not isinstance(item, TracedKey)), key=repr)
    found = plain + [item.key for item in sorted(items - {*plain}, key=lambda item: item.number)]
    return _set(recorder, recorder.scalar("list", found)) if any(map(is_traced, found)) else set(found)


def extended(recorder: Recorder | None, items: Any, given: Any) -> Any:
    """A list with more items: ``[*items, *more]``."""
    more = listed(recorder, given)
    if recorder is None or not (type(items) is TracedList or type(more) is TracedList):
        items.extend(more)
        return items
    found = recorder.scalar("cat_strings", items, more if type(more) is TracedList else list(more))
    if type(items) is list and type(found) is TracedList:
        found.made_of = [*items], more, found.value
    return found


def filled(recorder: Recorder | None, container: Any, given: Any, name: str) -> Any:
    """What a container of one name is after its method `extend` or `update`: another one where it has any length."""
    grows = isinstance(container, Growing)
    if recorder is None or not (grows or type(container) in (list, dict, set, defaultdict, Counter)):
        getattr(container, name)(given)
        return container
    given = items_of_any_length(recorder, given)
    if grows:
        own = container if container.handed_on else container.grow()
        updated(recorder, own, given) if issubclass(type(own), TracedDict) else getattr(own, name)(given)
        return container
    if isinstance(container, set):
        return set_updated(recorder, container, given)
    if isinstance(container, list):
        return extended(recorder, container, given)
    pairs = given if is_traced(given) or isinstance(given, dict) else list(given)
    if is_traced(pairs) or (type(pairs) is list and any(_holds_key(pair) for pair in pairs)):
        found = growing_dict(recorder, container).grow()
        updated(recorder, found, pairs)
        return found
    container.update(pairs)
    return container


def updated(recorder: Recorder, table: TracedDict, given: Any, **named: Any) -> None:
    """Puts entries into a dict with keys of run time: of a dict, or of pairs that may be a list of any length."""
    found = items_of_any_length(recorder, given)
    pairs = type(found) is TracedList and type(table) is TracedDict
    table.update(_dict(recorder, found) if pairs else found, **named)


def with_own_entry(recorder: Recorder | None, container: Any, key: Any, entry: Any) -> Any:
    """What a list or a dict of one name is after ``container[key] = entry``: another one where the key is traced."""
    if recorder is not None and isinstance(container, Growing) and not container.handed_on:
        container.grow()
    plain = recorder is not None and type(container) in (list, dict, defaultdict, Counter) and is_traced(key)
    if recorder is None or not plain:
        container[plain_index(recorder, container, key)] = entry
        return container
    if isinstance(container, list):
        return recorder.scalar("with_entry", container, key, entry)
    found = growing_dict(recorder, container).grow()
    found[key] = entry
    return found


def _holds_key(pair: Any) -> bool:
    """Whether the first one of a pair, or the item itself, is decided at run time."""
    return is_traced(pair[0] if type(pair) in (tuple, list) and pair else pair)


def items_of_any_length(recorder: Recorder, given: Any) -> Any:
    """What a container is extended by, as a list of any length where it is one; else as it is."""
    if type(given) is TracedStr:
        return recorder.scalar("list", given)
    return listed(recorder, as_rows(recorder, given))


def merged(recorder: Recorder | None, one: Any, other: Any) -> Any:
    """A dict with the entries of another one: ``{**one, **other}``."""
    if recorder is None or not (is_traced(one) or is_traced(other)):
        one.update(other)
        return one
    return growing_dict(recorder, one) | other


def appended(recorder: Recorder | None, items: Any, item: Any) -> Any:
    """A list with one more item: ``[*items, item]``."""
    if type(items) is list:
        items.append(item)
        return items
    return extended(recorder, items, [item])


def set_updated(recorder: Recorder | None, items: Any, given: Any) -> Any:
    """A set with more items: ``{*items, *more, item}``."""
    more = given if recorder is None else _as_set(recorder, given)
    if type(items) is TracedSet or type(more) is TracedSet:
        return items | (more if type(more) is TracedSet else set(more))
    items.update(more)
    return items


def _as_set(recorder: Recorder, given: Any) -> Any:
    """The set of some items, where they are a list of any length, or one is traced; else the items."""
    items = listed(recorder, given)
    if type(items) is TracedStr or (type(items) in (tuple, list) and any(map(is_traced, items))):
        items = recorder.scalar("list", items if is_traced(items) else list(items))
    items = items.keys() if issubclass(type(items), TracedDict) else items
    return _set(recorder, items) if type(items) is TracedList else items


def gathered(recorder: Recorder, loop: Any, result: Any) -> Any:
    """What a loop of the graph makes, from what its rounds put into a list, a dict or a set."""
    if isinstance(loop, NestedLoop | PlainFor):
        found = loop.gathered([])
        if type(result) is set:
            return _set(recorder, found)
        return _dict(recorder, found) if type(result) is dict else found
    if type(result) is set:
        return _set(recorder, loop.gathered([item.key for item in sorted(result, key=lambda item: item.number)]))
    if type(result) is not dict:
        return loop.gathered(result)
    pairs = [[_key(key), item] for key, item in result.items()]
    keys = _known_keys(loop, [key for key, _ in pairs])
    if keys is None:
        return _dict(recorder, loop.gathered(pairs))
    entries = loop.gathered([item for _, item in pairs])
    return {key: recorder.scalar("getitem", entries, place) for place, key in enumerate(keys)}


def _known_keys(loop: Loop, keys: list[Any]) -> list[Any] | None:
    """The keys that a loop over constants makes, where each is an item or a part of one, and none is left out."""
    found, steps = loop.source.constants, [step for way in loop.ways for step in way.steps]
    parts = {_part(loop, way, key) for way, key in zip(loop.ways, keys, strict=False)}
    left_out = len(keys) != len(loop.ways) or any(step.is_test for step in steps)
    if found is None or len(parts) != 1 or None in parts or left_out:
        return None
    (part,) = parts
    known = found if part == _WHOLE else [item[part] for item in found]
    return known if len(set(known)) == len(known) else None


_WHOLE = -1


def _part(loop: Loop, way: Way, key: Any) -> int | None:
    """Which part of the item a key is; None for anything else."""
    value = key.value if is_traced(key) else None
    if value is loop.value:
        return _WHOLE
    for node in way.nodes:
        if node.output is value and isinstance(node.target, Operator) and node.target.name == "py.getitem":
            return node.args[1] if node.args[0] is loop.value and type(node.args[1]) is int else None
    return None


def _dict(recorder: Recorder, pairs: Any) -> Any:
    keys, entries = (each(recorder, itemgetter(index), pairs) for index in (0, 1))
    return recorder.scalar("dict", keys, entries)


def _set(recorder: Recorder, items: Any) -> TracedSet:
    return TracedSet(recorder, recorder.scalar("unique", items))
