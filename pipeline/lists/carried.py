"""What a plain loop carries from one round to the next: the names of its variables, and which of them are lists."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ...ops.graph.graph import Node, Operator
from ..proxies.base import is_traced
from ..proxies.dicts import TracedDict
from ..proxies.lists import TracedList
from ..proxies.make import TracedOptional
from ..proxies.trees import concrete
from ..proxies.values.changing import MOST_SHARED


@dataclass(frozen=True)
class Carried:
    """What a loop carries.

    Attributes:
        names: of the variables.
        growing: the places among them of lists that the body does more with than to append to them.
        read: those of lists whose items it reads.
        later: those of lists that the function may change after the loop.
        unread: those of variables that nothing reads after the loop.
        shared: those of containers whose entries may have other names; deep: those where only what is in them may.
        known: those of containers that have another name before the loop, so that no round may change them.
        left: the name of the variable that says whether the loop was left; empty where there is none.
    """

    names: tuple[str, ...] = ()
    growing: frozenset[int] = frozenset()
    read: frozenset[int] = frozenset()
    later: frozenset[int] = frozenset()
    unread: frozenset[int] = frozenset()
    left: str = ""
    shared: frozenset[int] = frozenset()
    deep: frozenset[int] = frozenset()
    known: frozenset[int] = frozenset()

    def sharing(self, place: int) -> int:
        """What is known of a container, as `Growing.shared`."""
        return MOST_SHARED if place in self.shared else int(place in self.deep)


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
    containers = (item for item in items if isinstance(item, list | dict | set) and not is_traced(item))
    stand_in.shared = (
        MOST_SHARED if not _are_own(items, deeply=False) else int(not all(map(_are_own, map(_held, containers))))
    )
    return stand_in


def _are_own(items: Iterable[Any], deeply: bool = True) -> bool:
    """Whether nothing but a list holds the containers that are its items, and so on for what they hold."""
    return all(
        sys.getrefcount(item) <= _HOLDERS and (not deeply or _are_own([] if is_traced(item) else _held(item)))
        for item in items
        if isinstance(item, list | dict | set)
    )


def _held(container: Any) -> Iterable[Any]:
    return container.values() if isinstance(container, dict) else container


_HOLDERS = 3
"""References to an item that a loop of a generator asks for: of the list, of the variable, and of the question."""


def kind_of_carried(thing: Any) -> str:
    """What a round has to keep of a value, as text."""
    if type(thing) is TracedOptional:
        return f"{type(thing.sample).__name__} or None"
    if type(thing) is TracedList and thing.with_none is not None:
        return "list whose items may be None"
    if issubclass(type(thing), TracedDict) and thing.with_none:
        return "dict whose entries may be None"
    thing = concrete(thing)
    if isinstance(thing, torch.Tensor | np.ndarray):
        what = "tensor" if isinstance(thing, torch.Tensor) else "array"
        return f"{str(thing.dtype).removeprefix('torch.')} {what} of rank {thing.ndim}"
    return type(thing).__name__
