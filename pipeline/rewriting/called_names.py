"""The names by which code calls the user's functions: their own, and those of what stands for them.

A lambda has no name of its own, and an object is called by the name that holds it: ``post(x)`` runs ``Post.__call__``,
and ``head(x)`` the ``forward`` of a module.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import torch

from ...ops.runtime.user_code import attribute, functions_in
from ..recheck.reach.objects import Objects


def names_by_function(process: Callable[..., Any]) -> Mapping[FunctionType, set[str]]:
    """The names under which something is kept that calls a function, for each one that the traced function reaches.

    Args:
        process: the traced function.
    """
    found: defaultdict[FunctionType, set[str]] = defaultdict(set)
    for name, things in Objects(process).named().items():
        for function in (each for thing in things for each in _called(thing)):
            found[function].add(name)
    for function in found:
        found[function].add(function.__name__)
    return found


def _called(thing: Any) -> Iterator[FunctionType]:
    """The functions that a call of a thing runs."""
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
