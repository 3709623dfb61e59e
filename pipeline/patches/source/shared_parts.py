"""Containers that more than one variable or container holds: a copy of one would not change with the others."""

from __future__ import annotations

import gc
from collections import Counter, deque
from collections.abc import Collection, Iterator, Mapping, MappingView, Sequence
from enum import Enum
from types import (
    BuiltinFunctionType,
    CellType,
    FrameType,
    FunctionType,
    GeneratorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any

import numpy as np
import torch

from ....ops.graph.graph import Operator
from ....ops.runtime.primitives.plain_code.arrays.block_arrays import place_in_memory
from ....ops.runtime.primitives.plain_code.block_tensors import memory_of
from ....ops.runtime.user_code import attribute, is_own
from ...proxies.base import is_traced
from ...proxies.lists import TracedList
from ...proxies.trees import concrete
from ...proxies.values.changing import Growing

_CHANGING = (list, dict, set, deque)
_CONTAINERS = (*_CHANGING, tuple, frozenset)
_OF_MEMORY = (torch.Tensor, np.ndarray)
_NO_OBJECTS = (FunctionType, MethodType, ModuleType, type)


def shared_names(own: Mapping[str, Any], frame: FrameType, live: Collection[str]) -> set[str]:
    """The variables whose lists and dicts hold one that something else holds, too.

    Args:
        own: what variables of a function hold.
        frame: that of the function.
        live: its variables that are read later.
    """
    changing = {name: [*_changing_in(thing)] for name, thing in own.items()}
    if not any(changing.values()):  # so that nobody looks through all that callers hold
        return set()
    places = _places([*own.values(), *_held(frame, {*live}, {*own})])
    return {name for name, parts in changing.items() if any(places[id(each)] > 1 for each in parts)}


def shared_memory(own: Mapping[str, Any], frame: FrameType, live: Collection[str]) -> set[str]:
    """The variables with a tensor or an array whose memory something else holds, too.

    Args:
        own: what variables of a function hold.
        frame: that of the function.
        live: its variables that are read later.
    """
    own = {name: concrete(thing) for name, thing in own.items()}
    counts = Counter(_memory(thing) for thing in own.values() if isinstance(thing, _OF_MEMORY))
    if not counts:
        return set()
    others = list[Any]()
    _places([*_held(frame, live, {*own})], others)
    of_memory = (each for each in others if is_traced(each) or issubclass(type(each), _OF_MEMORY))
    counts.update({_memory(each) for each in map(concrete, of_memory) if isinstance(each, _OF_MEMORY)})
    return {name for name, thing in own.items() if isinstance(thing, _OF_MEMORY) and counts[_memory(thing)] > 1}


def _memory(thing: Any) -> int:
    return memory_of(thing) if isinstance(thing, torch.Tensor) else place_in_memory(thing)


def known_elsewhere(names: Sequence[str], frame: FrameType) -> frozenset[int]:
    """The places of the variables of a running function whose lists, dicts or sets something else holds, too."""
    found = frame.f_locals
    if not any(isinstance(found.get(name), (*_CHANGING, Growing)) for name in names):
        return frozenset()
    places = _places([*_held(frame, found.keys(), ())])
    things = [(at, found[name]) for at, name in enumerate(names) if name in found]
    return frozenset(at for at, thing in things if places.get(id(thing), 0) > 1 or _is_entry(thing))


def _is_entry(thing: Any) -> bool:
    """Whether a list of the recording is one of the items of another one."""
    if type(thing) is not TracedList:
        return False
    nodes = getattr(thing.tracer, "nodes", ())
    made = next((node for node in reversed(nodes) if node.output is thing.value), None)
    return made is not None and made.target == _ENTRY and not isinstance(made.args[1], slice)


_ENTRY = Operator("py.getitem")


def _held(frame: FrameType, live: Collection[str], own: Collection[str]) -> Iterator[Any]:
    """What the variables of a function hold but its own, and those of the functions of the user's that called it.

    Packages that call it, such as a notebook's or a test runner's, hold all that there is.
    """
    code = frame.f_code
    always = (*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount], *code.co_cellvars, *code.co_freevars)
    found = frame.f_locals
    yield from (found[name] for name in {*live, *always} - {*own} if name in found)
    outer = frame.f_back
    while outer is not None:
        if is_own(outer.f_code.co_filename):
            yield from outer.f_locals.values()
        outer = outer.f_back


def _places(things: list[Any], others: list[Any] | None = None) -> dict[int, int]:
    """In how many places each container is, by its id; what else is in them comes to the others."""
    places, waiting = dict[int, int](), things
    kept = list[Any]()  # what is made here must not give its id to another thing
    while waiting:
        each = waiting.pop()
        if is_traced(each):
            places[id(each)] = places.get(id(each), 0) + 1
        parts = None if is_traced(each) else _parts(each)
        if parts is None:
            if others is not None:
                others.append(each)
            continue
        places[id(each)] = places.get(id(each), 0) + 1
        if places[id(each)] == 1:
            kept.append(each)
            waiting += parts
    return places


def _parts(thing: Any) -> list[Any] | None:
    """What a container or an object of the user's holds; None for another thing. Its own `__class__` is not asked."""
    kind = type(thing)
    if issubclass(kind, dict):  # by dict's own methods: those of a class, as of tables of transformers, may raise
        return [*dict.keys(thing), *dict.values(thing)]
    own = next((each for each in _CONTAINERS if issubclass(kind, each)), None)
    if own is not None:
        return [*own.__iter__(thing)]
    if issubclass(kind, FunctionType):
        return [*(thing.__closure__ or ()), *(thing.__defaults__ or ())]
    if issubclass(kind, MethodType | BuiltinFunctionType | MethodWrapperType):
        return [thing.__self__]  # which a method of a list looks at, too
    if issubclass(kind, CellType):
        try:
            return [thing.cell_contents]
        except ValueError:
            return None
    if issubclass(kind, GeneratorType):
        inner = thing.gi_frame
        return [*inner.f_locals.values()] if inner is not None and is_own(thing.gi_code.co_filename) else None
    if issubclass(kind, Iterator | MappingView) and kind.__module__ in ("builtins", "itertools"):
        return gc.get_referents(thing)  # it looks at what it was made of whenever it is asked
    if issubclass(kind, _NO_OBJECTS) or kind.__module__ in ("builtins", "torch", "numpy"):
        return None
    held = attribute(thing, "__dict__")
    if kind.__module__.startswith("tracepack."):  # what stands for a method of a container, or another stand-in
        return [held["plain"]] if isinstance(held, dict) and "plain" in held else None
    return [*held.values()] if isinstance(held, dict) else None


def _changing_in(thing: Any, seen: set[int] | None = None) -> Iterator[Any]:
    """The containers and objects that may be changed in a thing, and the tuples that hold one."""
    seen = set() if seen is None else seen
    parts = None if is_traced(thing) or issubclass(type(thing), _NO_OBJECTS) or id(thing) in seen else _parts(thing)
    if parts is None:
        return
    seen.add(id(thing))
    inner = [found for each in parts for found in _changing_in(each, seen)]
    if inner or not _is_fixed(thing):
        yield thing
    yield from inner


def _is_fixed(thing: Any) -> bool:
    """Whether a thing changes in its parts alone, or is a model, of which a block has a graph."""
    frozen = getattr(attribute(type(thing), "__dataclass_params__"), "frozen", False)
    return frozen or issubclass(type(thing), tuple | frozenset | Enum | torch.nn.Module)
