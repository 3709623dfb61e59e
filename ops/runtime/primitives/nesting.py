"""A bound on lists in lists: a few nodes that hold a list twice each make one that takes years to walk.

Whatever makes a container of containers is checked when it is made, so that everything that walks one later (a format,
a comparison, torch, the message of an error) has a bound, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...graph.errors import GuardError
from ...graph.graph import Node, Value
from ...graph.traverse import leaves

MOST_NESTED = 1 << 20
"""The items of all lists in a list together."""
MOST_LEVELS = 256
"""Lists in lists: torch and Python walk them in C, with a stack that ends."""

MAKERS = (
    "py.add", "py.mul", "py.list", "py.zip", "py.zip_strict", "py.enumerate", "py.dict", "py.items", "py.total",
    "py.prod", "py.cat_strings", "py.lookup_all", "py.or_", "cond", "map",
)  # fmt: skip
"""Operators whose result can hold more lists than their arguments."""
_WALKERS = ("torch.tensor", "torch.as_tensor")


def check_nesting(tree: Any) -> int:
    """Checks the size of a tree of lists, tuples and dicts; one that is held twice counts twice.

    Returns:
        The items of all containers in it, and how many containers these are, together.

    Raises:
        GuardError: it is too large, or too deep.
    """
    waiting, count = [(tree, 0)], 0
    while waiting:
        items, level = waiting.pop()
        items = items.values() if isinstance(items, dict) else items
        if not any(issubclass(kind, _LISTS) for kind in set(map(type, items))):  # of many items the usual case
            continue
        inner = [item for item in items if isinstance(item, _LISTS)]
        count += sum(map(len, inner)) + len(inner)
        if count > MOST_NESTED:
            raise GuardError("lists in a list grow too large", expected=f"at most {MOST_NESTED} items in all")
        if inner and level >= MOST_LEVELS:
            raise GuardError("lists are nested too deeply", expected=f"at most {MOST_LEVELS} levels")
        waiting += [(each, level + 1) for each in inner]
    return count


_LISTS = (list, tuple, dict)


def bounded_list(items: Any) -> Any:
    """A list or tuple itself.

    Raises:
        GuardError: it holds too many items in all.
    """
    check_nesting(items)
    return items


def bounded_result(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which checks the size of a list that it makes."""

    def call(*args: Any, **kwargs: Any) -> Any:
        made = function(*args, **kwargs)
        if isinstance(made, _LISTS):
            check_nesting(made)
        return made

    return call


def bounded_arguments(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which checks the size of the lists that it is given."""

    def call(*args: Any, **kwargs: Any) -> Any:
        check_nesting(args)
        check_nesting(kwargs)
        return function(*args, **kwargs)

    return call


def gathers(node: Node, name: str) -> bool:
    """Whether a node's arguments are lists of values of the run, which it may walk."""
    if not name.startswith("py.") and name not in _WALKERS:
        return False
    return any(
        isinstance(leaf, Value)
        for arg in (*node.args, *node.kwargs.values())
        if isinstance(arg, _LISTS)
        for leaf in leaves(arg)
    )
