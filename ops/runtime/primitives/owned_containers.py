"""Lists and dicts that a loop owns: they grow in place, where a new one in each round would take quadratic time.

A loop copies what it is given, and hands out plain containers again. Only nodes that the emitter knows to be the last
readers of such a container change it (see `inplace`); anywhere else these functions make a new one, as others do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...graph.errors import GuardError
from ..torch_compiler import takes_control_flow
from . import control_flow
from .bounded import MOST_ITEMS, cat_strings
from .nesting import MOST_NESTED, bounded_arguments, bounded_result, check_nesting
from .tables import lookup, place_in, with_entry


class GrowingList(list[Any]):
    """A list of a loop.

    Attributes:
        inner: the items of all containers in it together.
        counted: what the container around it has counted for it.
    """

    inner = counted = 0


class GrowingDict(dict[Any, Any]):
    """A dict of a loop.

    Attributes:
        inner: the items of all containers in it together.
        counted: what the container around it has counted for it.
    """

    inner = counted = 0


_new_list = bounded_arguments(bounded_result(cat_strings))
_new_dict = bounded_arguments(with_entry)


def extended(items: Any, *more: Any) -> Any:
    """The items of all lists, in the first of them."""
    if type(items) is not GrowingList or len(items) + sum(map(len, more)) > MOST_ITEMS:
        return _new_list(items, *more)
    for each in more:
        _count(items, check_nesting(each))
        items.extend(each)
    return items


def entered(table: Any, key: Any, entry: Any) -> Any:
    """A dict with one more entry, or another one under a key, or a list with another item, in place."""
    known: Any
    if type(table) is GrowingList:
        known = place_in(table, key)
        old = table[known]
    elif type(table) is GrowingDict:
        (known,) = with_entry({}, key, None)
        old = table.get(known)
    else:
        return _new_dict(table, key, _released(entry))
    size = _size(entry)
    _count(table, size - (old.counted if isinstance(old, _GROWING) else _size(old)))
    if isinstance(entry, _GROWING):
        entry.counted = size
    table[known] = entry
    return table


def borrowed(table: Any, key: Any, default: Any = None) -> Any:
    """The entry of a dict itself, or a new one, which grows in place before the dict gets it again."""
    found = table.get(key) if type(table) is GrowingDict else None
    return found if isinstance(found, _GROWING) else _owned(lookup(table, key, default))


def _size(entry: Any) -> int:
    if isinstance(entry, _GROWING):
        return len(entry) + 1 + entry.inner
    return check_nesting([entry])


def _count(container: Any, more: int) -> None:
    container.inner += more
    if container.inner > MOST_NESTED:
        raise GuardError("lists in a list grow too large", expected=f"at most {MOST_NESTED} items in all")


def _owned(value: Any) -> Any:
    kind: Any = GrowingList if type(value) is list else GrowingDict if type(value) is dict else None
    if kind is None:  # that of a loop around this one, or no container
        return value
    found = kind(value)
    found.inner = check_nesting(found)
    return found


def _released(value: Any) -> Any:
    """A plain container with plain entries."""
    if isinstance(value, GrowingDict):
        return {key: _released(entry) for key, entry in value.items()}
    return list(value) if isinstance(value, GrowingList) else value


_GROWING = (GrowingList, GrowingDict)


def looping(places: Sequence[int]) -> Callable[..., Any]:
    """The function behind a `while_loop` that owns the containers at some places of what it carries."""

    def loop(test: Any, body: Any, carried: Any, constant: Any = ()) -> Any:
        if takes_control_flow():
            return control_flow.FUNCTIONS["while_loop"](test, body, carried, constant)
        own = [place for place in places if type(carried[place]) in (list, dict)]
        state = list(carried)
        for place in own:
            state[place] = _owned(state[place])
        state = list(control_flow.rounds(test, body, tuple(state), constant))
        for place in own:
            state[place] = _released(state[place])
        return tuple(state)

    return loop


chosen = control_flow.FUNCTIONS["cond"]
"""The function behind a `cond` whose branches return no new containers of containers."""
