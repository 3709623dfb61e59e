"""The names by which code calls the user's functions: their own, and those of what stands for them.

A lambda has no name of its own, and an object is called by the name that holds it: ``post(x)`` runs ``Post.__call__``,
and ``head(x)`` the ``forward`` of a module. So is what a table or a default holds: ``STEPS["clean"](text)``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from inspect import Parameter
from itertools import islice
from types import FunctionType, MethodType
from typing import Any

import torch

from ...ops.runtime.user_code import attribute, functions_in, signature_of
from ..recheck.reach.objects import Objects

MOST_LEVELS, MOST_ENTRIES = 3, 100
"""How deep tables are looked into, and how many entries of each: others hold numbers and texts."""


def names_by_function(process: Callable[..., Any]) -> Mapping[FunctionType, set[str]]:
    """The names under which something is kept that calls a function, for each one that the traced function reaches.

    Args:
        process: the traced function.
    """
    found: defaultdict[FunctionType, set[str]] = defaultdict(set)
    objects = Objects(process)
    held = [(name, thing) for name, things in objects.named().items() for thing in things]
    for name, thing in (*held, *(pair for function in objects.functions for pair in _defaults(function))):
        for function in _called(thing):
            found[function].add(name)
    for function in found:
        found[function].add(function.__name__)
    return found


def _defaults(function: FunctionType) -> Iterator[tuple[str, Any]]:
    parameters = signature_of(function).parameters.values()
    return ((each.name, each.default) for each in parameters if each.default is not Parameter.empty)


def _called(thing: Any, levels: int = MOST_LEVELS) -> Iterator[FunctionType]:
    """The functions that a call of a thing runs, or one of what it holds."""
    if type(thing) in (list, tuple, dict):
        entries = thing.values() if type(thing) is dict else thing
        for each in islice(entries, MOST_ENTRIES if levels else 0):
            yield from _called(each, levels - 1)
        return
    match thing:
        case partial():
            yield from _called(thing.func)
        case MethodType():
            yield from _called(thing.__func__)
        case torch.nn.Module():
            yield from functions_in(type(thing).forward)
        case FunctionType() | staticmethod() | classmethod() | property():
            yield from functions_in(thing)
        case _:
            yield from functions_in(attribute(type(thing), "__call__"))
