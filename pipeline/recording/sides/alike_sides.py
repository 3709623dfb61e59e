"""Two sides of a choice that give other containers: lists of other lengths, and None beside a list or a tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from ....ops.graph.types import ANY, SCALARS, Type
from ....ops.tracing_hook import current
from ...proxies.arrays import TracedArray
from ...proxies.base import is_traced
from ...proxies.lists import TracedList
from ...proxies.make import TracedOptional
from ...proxies.trees import concrete, same_container
from ...proxies.values.maybe import MaybeThing
from ...proxies.values.members import member_kind
from ..recorder import Recorder

Function = Callable[..., Any]
_NUMBERS = (str, int, float, bool)
"""What may be None by itself, without a second value that says so."""


def of_lists(function: Function) -> Function:
    """A function whose lists of numbers, texts, tensors and records have any length, as those of a comprehension."""

    def listed(result: Any) -> Any:
        if type(result) is dict:
            return {key: listed(item) for key, item in result.items()}
        if type(result) is tuple:
            return tuple(map(listed, result))
        if type(result) is MaybeThing:
            return result.with_thing(listed(result.thing))
        recorder = current()
        plain = type(result) is list and all(map(_is_item, result))
        return recorder.scalar("list", result) if plain and isinstance(recorder, Recorder) else result

    return lambda *args: listed(function(*args))


def _is_item(item: Any) -> bool:
    """Whether a list of any length may hold a thing: a number, a text, a tensor, or a record of such."""
    if not is_traced(item) and isinstance(item, tuple | dict):
        return all(map(_is_item, item.values() if isinstance(item, dict) else item))
    return isinstance(item, torch.Tensor) or type(concrete(item)) in SCALARS


def with_none(functions: Sequence[Function], results: Sequence[Any]) -> list[Function] | None:
    """Two functions whose results have the same containers: what is None on one side says so by a flag on both.

    None where the results are not alike otherwise, or no result is None on one side only.

    Args:
        functions: the sides.
        results: what they gave when they were recorded, in their containers.
    """
    one, other = results
    if not _alike(one, other) or not (_differ(one, other)):
        return None

    def beside(function: Function, example: Any) -> Function:
        return lambda *args: _beside(function(*args), example)

    return [beside(functions[0], other), beside(functions[1], one)]


def _alike(one: Any, other: Any) -> bool:
    """Whether two results have the same containers, but for what is None in one of them."""
    if one is None or other is None:
        return one is other or _stands_aside(other if one is None else one)
    if MaybeThing in (type(one), type(other)):
        return _alike(_thing(one), _thing(other))
    pairs = _pairs(one, other)
    return not (_is_container(one) or _is_container(other)) if pairs is None else all(_alike(*pair) for pair in pairs)


def _differ(one: Any, other: Any) -> bool:
    """Whether something is None in one result only."""
    if one is None or other is None:
        return one is not other and not _is_number(other if one is None else one)
    if MaybeThing in (type(one), type(other)):
        return type(one) is not type(other) or _differ(one.thing, other.thing)
    return any(_differ(*pair) for pair in _pairs(one, other) or ())


def _is_number(thing: Any) -> bool:
    return type(thing) is TracedOptional or type(concrete(thing)) in _NUMBERS


def _is_container(thing: Any) -> bool:
    return not is_traced(thing) and isinstance(thing, tuple | list | dict)


def _thing(thing: Any) -> Any:
    return thing.thing if type(thing) is MaybeThing else thing


def _pairs(one: Any, other: Any) -> list[tuple[Any, Any]] | None:
    """The parts of two containers of one form; None for anything else."""
    if type(one) is not type(other) or not _is_container(one) or len(one) != len(other):
        return None
    if isinstance(one, dict):
        return [(one[key], other[key]) for key in one] if type(one) is dict and list(one) == list(other) else None
    return list(zip(one, other, strict=True))


def _stands_aside(thing: Any) -> bool:
    """Whether something can stand for a thing where that is None."""
    if type(thing) is MaybeThing:
        return _stands_aside(thing.thing)
    if _is_container(thing):
        return all(map(_stands_aside, thing.values() if isinstance(thing, dict) else thing))
    kinds = (torch.Tensor, TracedArray, TracedList, TracedOptional)
    return (
        thing is None or isinstance(thing, kinds) or member_kind(thing) is not None or type(concrete(thing)) in SCALARS
    )


def _beside(thing: Any, example: Any) -> Any:
    """What a side gives, in the form that it has with the other side.

    Args:
        thing: what the side gives.
        example: what the other one gave.
    """
    one_is_none = thing is None or example is None
    if MaybeThing in (type(thing), type(example)) or (one_is_none and _differ(thing, example)):
        if thing is None:
            return MaybeThing(_running(), True, _filler(_thing(example)))
        found = thing if type(thing) is MaybeThing else MaybeThing(_running(), False, thing)
        return found if example is None else found.with_thing(_beside(found.thing, _thing(example)))
    pairs = _pairs(thing, example)
    if pairs is None:
        return thing
    parts = [_beside(*pair) for pair in pairs]
    return dict(zip(thing, parts, strict=True)) if isinstance(thing, dict) else same_container(thing, parts)


def _running() -> Any:
    """The recorder that runs."""
    return current()


def _filler(thing: Any) -> Any:
    """What stands where a side gives None, of the form of what the other one gives; nobody asks for it."""
    if type(thing) is MaybeThing:
        return MaybeThing(_running(), True, _filler(thing.thing))
    if _is_container(thing):
        parts = [_filler(each) for each in (thing.values() if isinstance(thing, dict) else thing)]
        return dict(zip(thing, parts, strict=True)) if isinstance(thing, dict) else same_container(thing, parts)
    if isinstance(thing, torch.Tensor):
        return torch.zeros((0,) * thing.dim(), dtype=thing.dtype)
    if type(thing) is TracedArray:
        return np.zeros((0,) * thing.concrete.ndim, thing.concrete.dtype)
    if type(thing) is TracedList:
        return _running().scalar("list", [])
    if (kind := member_kind(thing)) is not None:
        return next(iter(kind))
    return None if thing is None or type(thing) is TracedOptional else type(concrete(thing))()


def on_example(result: Sequence[Any], spec: Any, sides: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    """What a choice gives on the example, with what the other side gives for what is None there.

    Args:
        result: what the graph of the taken side gives.
        spec: its containers.
        sides: what the sides gave when they were recorded, the taken one first.
    """
    absent = [_absent(each, spec) for each in (result, *sides)]
    found = list[Any]()
    for given, is_absent, *samples in zip(result, absent[0], *sides, *absent[1:], strict=True):
        known = [concrete(each) for each, without in zip(samples[:2], samples[2:], strict=True) if not without]
        found.append(known[0] if is_absent and known else given)
    return tuple(found)


def _absent(leaves: Sequence[Any], spec: Any) -> list[bool]:
    """For each value in some containers whether it stands only where there is None."""

    def within(tree: Any, absent: bool) -> Iterator[bool]:
        if type(tree) is MaybeThing:
            yield absent
            yield from within(tree.thing, absent or tree.missing.leaf is True)
        elif type(tree) is _LeafOnExample:
            yield absent
        else:
            for part in tree.values() if isinstance(tree, dict) else tree:
                yield from within(part, absent)

    return list(within(pytree.tree_unflatten(list(map(_LeafOnExample, leaves)), spec), False))


@dataclass(frozen=True)
class _LeafOnExample:
    """What is no container of a result, though it may be a list on the example."""

    leaf: Any


def types_of(spec: Any, results: Sequence[Sequence[Any]], types: Sequence[Sequence[Type]]) -> list[Type]:
    """The type of each result of two sides: that of the one which has it, where it is None in the other one.

    Args:
        spec: the containers of the results.
        results: what the sides gave when they were recorded.
        types: those of each side.
    """
    one, other = (_absent(each, spec) for each in results)
    return [
        a if a == b or without_b else b if without_a else ANY
        for a, b, without_a, without_b in zip(*types, one, other, strict=True)
    ]
