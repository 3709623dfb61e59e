"""A function that fills what it made itself, or what it names, leaves all that other threads write elsewhere."""

from __future__ import annotations

import collections
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

from tracepack.pipeline.recheck.reach.objects import Objects

KINDS: dict[str, Callable[[], Any]] = {
    "log": list, "table": dict, "seen": set, "recent": deque, "array": lambda: np.zeros(3),
}  # fmt: skip


class Held:
    """What other threads fill, and what the function does."""

    def __init__(self) -> None:
        for name, make in KINDS.items():
            setattr(self, name, make())
        self.own: list[Any] = []

    def note(self) -> None:
        """What another thread does."""
        self.log.append(1)  # type: ignore[attr-defined]  # these are set by name
        self.table["s1"] = 1  # type: ignore[attr-defined]
        self.seen.add(1)  # type: ignore[attr-defined]
        self.recent.append(1)  # type: ignore[attr-defined]
        self.array[0] = 1  # type: ignore[attr-defined]

    def filled(self) -> list[str]:
        """The names of those that hold something."""
        return [name for name in KINDS if np.size(getattr(self, name)) and np.any([*map(bool, getattr(self, name))])]


pytestmark = pytest.mark.usefixtures("another_thread")  # where no other one runs, all goes back


def _lists(held: Held, x: Any) -> Any:
    out = []
    for row in x:
        out.append(row)
        out.extend([row])
    out.sort(key=len)
    return out, held


def _items(held: Held, x: Any) -> Any:
    table = {}
    for number, row in enumerate(x):
        table[number] = [row]
        table[str(number)] = row
    table.update(last=x)
    del table[0]
    return table, held


def _sets(held: Held, x: Any) -> Any:
    seen, more = set(), {1}
    seen.add(1)
    more.update((2,))
    return seen, more, held


def _makers(held: Held, x: Any) -> Any:
    counts, groups, order = Counter(), defaultdict(list), collections.deque(maxlen=3)
    counts["a"] += 1
    counts.update("b")
    groups["a"] = [1]
    order.append(1)
    rows = sorted(x)
    rows.pop()
    return counts, groups, order, rows, held


def _arrays(held: Held, x: Any) -> Any:
    array = np.zeros(3)
    array[1] = 2
    array.fill(1)
    tensor = torch.zeros(3)
    tensor[0] = 1
    return array, tensor, held


def _by_name(held: Held, x: Any) -> Any:
    held.own.append(1)
    own = held.own
    own.extend([2])
    return own


@pytest.mark.parametrize("process", [_lists, _items, _sets, _makers, _arrays, _by_name])
def test_what_other_threads_fill_stays(process: Callable[[Held, Any], Any]) -> None:
    held = Held()
    objects = Objects(lambda: process(held, [[1], [2]]))
    held.note()
    process(held, [[1], [2]])
    objects.restore()
    assert held.filled() == [*KINDS]
    assert held.own == []


def _rebound(held: Held) -> None:
    held.own = held.log  # type: ignore[attr-defined]
    held.own.append(1)


def _from_a_call(held: Held) -> None:
    held.log.copy()  # type: ignore[attr-defined]
    out = next(iter([held.log]))  # type: ignore[attr-defined]
    out.append(1)


def _either(held: Held) -> None:
    out = [] if held.own else held.log  # type: ignore[attr-defined]
    out.append(1)


def _later_another(held: Held) -> None:
    out: list[int] = []
    others: list[list[int]] = [[], held.log]  # type: ignore[attr-defined]
    for other in others:
        out.append(1)
        out = other
    out.append(1)


def _argument(held: Held) -> None:
    def add(out: Any) -> None:
        out.append(1)

    add(held.log)  # type: ignore[attr-defined]


def _cell(held: Held) -> None:
    out = held.log  # type: ignore[attr-defined]

    def add() -> None:
        out.append(1)

    add()


def _unbound(held: Held) -> None:
    list.append(held.log, 1)  # type: ignore[attr-defined]


def _in_a_record(held: Held) -> None:
    Pair(held.log).own.append(1)  # type: ignore[attr-defined]


Pair = collections.namedtuple("Pair", "own")  # its field is no attribute that code sets


def _by_keyword(held: Held) -> None:
    Plain(own=held.log).own.append(1)  # type: ignore[attr-defined]


class Plain:
    """An object with whatever it is given."""

    def __init__(self, **given: Any) -> None:
        self.own = given["own"]


def _item_of_own(held: Held) -> None:
    table = {"a": held.log}  # type: ignore[attr-defined]
    table["a"].append(1)


def _unpacked(held: Held) -> None:
    out, _ = held.log, 1  # type: ignore[attr-defined]
    out.append(1)


_WRITING = [
    _rebound, _from_a_call, _either, _later_another, _argument, _cell, _unbound, _in_a_record, _by_keyword,
    _item_of_own, _unpacked,
]  # fmt: skip


@pytest.mark.parametrize("write", _WRITING)
def test_what_the_function_fills_by_another_name_goes_back(write: Callable[[Held], None]) -> None:
    held = Held()
    before, own = held.log, held.own  # type: ignore[attr-defined]
    objects = Objects(lambda: write(held))
    write(held)
    assert before
    assert objects.changes()
    objects.restore()
    assert held.log == [] == held.own  # type: ignore[attr-defined]
    assert held.own is own


def _begun() -> Iterator[Any]:
    out: list[int] = []
    while True:
        yield out
        out.append(1)


def test_what_a_generator_made_before_goes_back() -> None:
    kept = _begun()
    held = Held()
    held.own = next(kept)
    objects = Objects(lambda: (next(kept), held.own))
    next(kept)
    assert held.own == [1]
    objects.restore()
    assert held.own == []
