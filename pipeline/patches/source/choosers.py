"""What functions that are written anew call in place of a branch or a loop: outside of a recording they do the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ....ops.graph.errors import RecordError
from ....ops.graph.graph import Guard, Node
from ...proxies.arrays import TracedArray
from ...proxies.base import is_traced
from ...proxies.lists import TracedList
from ...proxies.make import TracedOptional
from ...proxies.scalars import TracedNumber
from ...proxies.trees import concrete
from ...proxies.values.changing import Growing
from ...proxies.values.maybe import MaybeThing
from ...recording.branch import Branch
from ...recording.control_flow import cond, while_loop
from ...rules.number_or_tensor import number_of
from ...rules.tried.tried_lines import CAUGHT, TriedLine, tried_line
from ..library.tables.asked_table import AskedTable
from ..library.tables.chosen_functions import ChosenSides
from ..python.entries import extended
from ..python.operations import active, negated, truth_of
from ..redirect import stand_in
from .generators.items import begun, finite, unchanging, yielded
from .told_messages import is_telling, unsaid

Side = Callable[[], Any]


def choose(found: Any, one: Side, other: Side) -> Any:
    """Stands for a branch by a condition."""
    recorder = active()
    if recorder is None:
        return one() if found else other()
    sides = ChosenSides(one, other)
    with recorder.refusing():  # the function may handle errors of its own
        return sides.result(recorder, cond(truth_of(recorder, found), *sides.numbered()))


def both(first: Any, rest: Side) -> Any:
    """Stands for `first and rest` as a condition."""
    return choose(first, lambda: _truth(rest()), lambda: False)


def either(first: Any, rest: Side) -> Any:
    """Stands for `first or rest` as a condition."""
    return choose(first, lambda: True, lambda: _truth(rest()))


def and_value(first: Any, rest: Side) -> Any:
    """Stands for `first and rest` as a value."""
    return choose(first, rest, lambda: first)


def or_value(first: Any, rest: Side) -> Any:
    """Stands for `first or rest` as a value."""
    return choose(first, lambda: first, rest)


def _truth(found: Any) -> Any:
    recorder = active()
    if recorder is not None:
        found = truth_of(recorder, found)
        if isinstance(found, torch.Tensor) and found in recorder.values and found.numel() == 1:
            return recorder.scalar("bool", recorder.scalar("item", found))  # a number, as the other side may be
    return negated(negated(found))


def demand(found: Any, error: str) -> Any:
    """A condition on whose falsehood a side raises an error: it is a check of the runs that take the side."""
    recorder = active()
    if not isinstance(recorder, Branch):
        return found
    found = truth_of(recorder, number_of(recorder, found))
    if not issubclass(type(found), TracedNumber):
        return found
    condition = recorder.scalar("bool", found)
    line = tried_line(error)
    reason = f"the function raises {error} then{CAUGHT if isinstance(line, TriedLine) else ''}"
    recorder.nodes.append(Node(Guard(True, reason), (condition.value,), {}, None, line))
    return True


def repeat(test: Callable[..., Any], body: Callable[..., Any], *carried: Any) -> Any:
    """Stands for a `while` loop that carries some values; gives the last of them, in a tuple."""
    recorder = active()
    if recorder is not None:
        with recorder.refusing():
            found = while_loop(lambda *state: _truth(test(*state)), body, *carried)
        return (found,) if len(carried) == 1 else found
    while test(*carried):
        carried = body(*carried)
    return carried


def not_none(found: Any) -> Any:
    """A variable in code that runs only where it is not None: the number or the text that may be None elsewhere."""
    recorder = active()
    if type(found) is MaybeThing:
        return found.thing
    return found if recorder is None or type(found) is not TracedOptional else recorder.scalar("getitem", [found], 0)


def telling(function: Any) -> Any:
    """What a side calls to tell people something, which a recording of the side leaves out.

    Raises:
        RecordError: it may do something else.
    """
    if not isinstance(active(), Branch):
        return function
    if not is_telling(function):
        raise RecordError("a choice calls what may do more than tell something")
    return unsaid


def unshared(found: Any) -> Any:
    """A number or a text to which a side adds: it is no list and no tensor, which changes under all of its names.

    Raises:
        RecordError: it is another thing.
    """
    if type(concrete(found)) not in (int, float, complex, bool, str, tuple):
        raise RecordError("a choice changes a list or a tensor in place")
    return found


def own(found: Any) -> Any:
    """A list or a dict that a choice has given, and that one variable alone knows, by the source: it may change."""
    recorder = active()
    if recorder is not None and isinstance(found, Growing | TracedArray):
        found.handed_on = False
    elif recorder is not None:
        recorder.values.given[:] = [each for each in recorder.values.given if each[0] is not found]
    return found


def with_item(items: Any, item: Any) -> Any:
    """Stands for `items.append(item)`: the list with one more item.

    Raises:
        RecordError: it is no list.
    """
    recorder = active()
    if type(items) not in (list, TracedList):
        raise RecordError("a choice changes another thing than a list or a dict")
    return [*items, item] if recorder is None or type(items) is list else extended(recorder, items, [item])


def with_entry(items: Any, key: Any, item: Any) -> Any:
    """Stands for `items[key] = item`: the list or the dict with that entry.

    Raises:
        RecordError: it is neither.
    """
    if type(items) not in (list, dict):
        raise RecordError("a choice changes another thing than a list or a dict")
    found = items.copy()
    found[key] = item
    return found


def held(table: Any, key: Any) -> Any:
    """Whether a table has an entry that counts as true: stands for the truth of `table.get(key)`."""
    if (recorder := _asked(table, key)) is None:
        return bool(table.get(key))
    return recorder.scalar("lookup", {each: bool(entry) for each, entry in table.items()}, key, False)


def lacks(table: Any, key: Any) -> Any:
    """Stands for `table.get(key) is None`."""
    if (recorder := _asked(table, key)) is None:
        return table.get(key) is None
    return recorder.scalar("lookup", {each: entry is None for each, entry in table.items()}, key, True)


def entry(table: Any, key: Any) -> Any:
    """Stands for `table.get(key)` where it is not None."""
    recorder = _asked(table, key)
    return table.get(key) if recorder is None else AskedTable(recorder, table)[key]


def entry_or(table: Any, key: Any, default: Any) -> Any:
    """Stands for `table.get(key) or default`."""
    recorder = _asked(table, key)
    if recorder is None:
        return table.get(key) or default
    if all(table.values()):
        return AskedTable(recorder, table).get(key, default)
    return choose(held(table, key), lambda: entry(table, key), lambda: default)


def _asked(table: Any, key: Any) -> Any:
    """The recorder, where a plain dict is asked for an entry by a key of the recording."""
    recorder = active()
    plain = type(table) is dict and not any(map(is_traced, table.values()))
    return recorder if recorder is not None and plain and is_traced(key) else None


CHOOSERS: dict[str, Any] = {
    f"<{function.__name__}>": function
    for function in (
        choose,
        both,
        either,
        and_value,
        or_value,
        negated,
        demand,
        repeat,
        not_none,
        telling,
        unshared,
        own,
        with_item,
        with_entry,
        held,
        lacks,
        entry,
        entry_or,
        begun,
        finite,
        unchanging,
        yielded,
    )
}
"""Their names in the code of functions, which no variable of a user's can have."""

for _function in (*CHOOSERS.values(), unsaid):
    stand_in(_function, _function)
