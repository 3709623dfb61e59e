"""What a plain loop carries from one round to the next: the names of its variables, and which of them are lists."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...ops.graph.graph import Node, Operator
from ..proxies.base import is_traced
from ..proxies.lists import TracedList


@dataclass(frozen=True)
class Carried:
    """What a loop carries.

    Attributes:
        names: of the variables.
        growing: the places among them of lists that the body does more with than to append to them.
        read: those of lists whose items it reads.
        later: those of lists that the function may change after the loop.
    """

    names: tuple[str, ...] = ()
    growing: frozenset[int] = frozenset()
    read: frozenset[int] = frozenset()
    later: frozenset[int] = frozenset()


def keeps_keys(start: Any, value: Any, after: Any, nodes: Sequence[Node]) -> bool:
    """Whether a round leaves the keys of a dict as they are: it stores under constants that the dict has before.

    Args:
        start: what the variable is before the loop: a dict of Python.
        value: stands for the dict in the round.
        after: what stands for it after the round.
        nodes: of the round.
    """
    made = {id(node.output): node for node in nodes}
    while after is not value:
        node = made.get(id(after))
        if node is None or node.target != Operator("py.with_entry") or node.args[1] not in list(start):
            return False
        after = node.args[0]
    return True


def begun(stand_in: TracedList, items: list[Any]) -> TracedList:
    """The stand-in for a list with which a loop begins."""
    stand_in.own_rows = _are_own(items)
    return stand_in


def _are_own(items: list[Any]) -> bool:
    """Whether the items of a list are lists of numbers and texts, each of which nothing but the list holds."""
    return all(
        type(item) is list and not any(map(is_traced, item)) and sys.getrefcount(item) <= _HOLDERS for item in items
    )


_HOLDERS = 3
"""References to an item that a loop of a generator asks for: of the list, of the variable, and of the question."""
