"""Lists whose items are not alike: ints among floats become floats; any others keep the length of the example."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from ..ops.graph.errors import SignatureError
from ..ops.graph.program import Parameters
from .lists.walking.item_forms import ItemForm, form_of_items
from .proxies.trees import is_array, list_type
from .rules.advice.walked_names import walked_names
from .running.binding import as_tensor
from .signature.arguments import Given, keywords_name
from .signature.defaults import kept_defaults, lost_defaults

_EMPTY = "Trace with two items at least"
_LIST = "Trace with a list, which may have any length"
_TWO_LISTS = ". For any keys let it take two lists, and write for key, value in zip(keys, values) for {}.items()"
_FOR_KEYWORDS = ". For any names let it take two lists, of the names and of the values, in place of **{}"
_ITEM, _INNER = "an item", "an inner list"
_NUMBERS = (int, float)
_LARGEST = 1 << 63  # a signature holds no larger int


def leveled(items: list[Any]) -> list[Any]:
    """The items with a float for each int where another item has a float, in records and lists of items, too."""
    kinds = {type(item) for item in items}
    if kinds == {int, float}:
        held = all(type(item) is float or (abs(item) < _LARGEST and int(float(item)) == item) for item in items)
        return [float(item) for item in items] if held else items
    if kinds == {list}:
        flat = iter(leveled([part for item in items for part in item]))
        return [[next(flat) for _ in item] for item in items]
    if kinds == {tuple} and len({len(item) for item in items}) == 1:
        columns = [leveled(list(column)) for column in zip(*items, strict=True)]
        return list(zip(*columns, strict=True)) if columns else items
    if kinds == {dict} and all(item.keys() == items[0].keys() for item in items):
        fields = {key: leveled([item[key] for item in items]) for key in items[0]}
        return [{key: fields[key][number] for key in item} for number, item in enumerate(items)]
    return items


def free_items(items: list[Any]) -> tuple[list[Any], ItemForm | None]:
    """The items as a list of any length holds them, and their form where the function gets others."""
    held, form = held_items(items)
    return leveled(held), form


def held_items(items: list[Any]) -> tuple[list[Any], ItemForm | None]:
    """The same, with the ints that become floats in a list of any length still ints."""
    form = form_of_items(items)
    return items if form is None else [form.held(item, _in_place) for item in items], form


def is_leveled(one: Any, other: Any) -> bool:
    """Whether items have ints where the leveled ones have floats."""
    if isinstance(one, list | tuple):
        return any(map(is_leveled, one, other))
    if isinstance(one, dict):
        return any(is_leveled(one[key], other[key]) for key in one)
    return type(one) is int and type(other) is float


def _in_place(item: Any) -> Any:
    """A tensor over the memory of an array, or of bytes; what torch has no dtype for as it is."""
    try:
        return as_tensor(item)
    except SignatureError:
        return item


def lines_on(process: Any, given: Sequence[Given], parameters: Parameters) -> list[str]:
    """A line for each list of the examples whose length is fixed by what is in it, and for each lost default.

    So it is for a tuple or a dict that the function goes through, for `*args` and for `**kwargs`, where a list of the
    same items might have any length.
    """
    shown = [each for each in given if each.given]
    counted = [each for each in shown if type(each.value) in (tuple, dict, list) and each.value]
    walked = walked_names(process) if counted else frozenset()
    lists = [line for each in shown for line in _lines(each.value, each.name, each.name in walked)]
    counted = [each for each in counted if type(each.value) is not list]
    counts = [line for each in counted if each.name in walked for line in _of_count(each)]
    kept = kept_defaults(process, given)
    return [*lists, *counts, *_of_keywords(process, given), *lost_defaults(given, parameters), *kept]


def _of_keywords(process: Any, given: Sequence[Given]) -> Iterator[str]:
    """The line for `**kwargs` that the function goes through: each name is an argument of its own."""
    name = keywords_name(process)
    if name is not None and name in walked_names(process):
        found = {each.name: each.value for each in given if each.collected}
        alike = not found or list_type(free_items([*found.values()])[0]) is not None
        form = _FOR_KEYWORDS.format(name) if alike else ""
        yield f"the names of **{name} are fixed to {[*found]}, because the function goes through them{form}"


def _of_count(each: Given) -> Iterator[str]:
    """The line for an argument that the function goes through, and that has as many items as in the example."""
    found: Any = each.value
    alike = list_type(free_items(list(found.values() if type(found) is dict else found))[0]) is not None
    if type(found) is dict:
        form = _TWO_LISTS.format(each.name) if alike and set(map(type, found)) == {str} else ""
        yield f"the keys of {each.name!r} are fixed to {list(found)}, because the function goes through them{form}"
    elif each.kind == "variadic":
        form = f". Let it take one list, {each.name}, which may have any length" if alike else ""
        yield f"the number of *{each.name} is fixed to {len(found)}, because the function goes through them{form}"
    elif alike:
        yield f"the length of {each.name!r} is fixed to {len(found)}, because it is a tuple. {_LIST}"


def _lines(value: Any, where: str, walked: bool) -> Iterator[str]:
    if type(value) is list and list_type(level := free_items(value)[0]) is None:
        if (walked or not _is_mixed(level)) and (why := _why(level)):
            yield f"the length of {where!r} is fixed to {len(value)}, because {why}"
        return
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _lines(item, f"{where}[{key!r}]", walked=False)


def _is_mixed(items: list[Any]) -> bool:
    """Whether it may be no list of alike items at all, but one of several things that belong together."""
    kinds = {type(item) for item in items if item is not None}
    return len(kinds) > 1 and kinds != {*_NUMBERS}


def _why(items: list[Any]) -> str:
    """Why a list has no common form, and what to do; empty where that is not known."""
    if not items:
        return f"the example is empty. {_EMPTY}"
    return _among(items, _ITEM)


def _among(items: Sequence[Any], what: str) -> str:
    """What some items have not in common, or what no list of any length holds in all of them."""
    others = (_difference(items[0], other, what) for other in [*items[1:], items[0]])
    return next(filter(None, others), "")


def _difference(one: Any, other: Any, what: str) -> str:
    """What two items have not in common, or what no list of any length holds in both."""
    kinds = {type(one), type(other)}
    if one is None or other is None:
        return _of_none(one, other, what)
    if kinds == set(_NUMBERS):
        return f"{what} is a float in one and an int that no float is in another. Write numbers of one type"
    if is_array(one) and is_array(other):
        return _of_arrays(one, other, what)
    if len(kinds) > 1:
        return f"{what} is {_of_class(one)} in one and {_of_class(other)} in another. Give all items one type"
    if kinds == {dict}:
        missing = next((key for key in [*one, *other] if key not in one or key not in other), None)
        if missing is not None:
            return f"the key {missing!r} is missing in one. Give all items the same keys"
        return next((found for key in one if (found := _difference(one[key], other[key], repr(key)))), "")
    if kinds == {list}:
        if not (one and other):
            return f"{what} is an empty list in one. Trace with an example in which it has items everywhere"
        return _among([*one, *other], f"an item of {_INNER if what == _ITEM else what}")
    if kinds == {tuple}:
        return _of_tuples(one, other, what)
    if isinstance(one, np.generic):
        return f"{what} is of numpy's type {type(one).__name__}. Give plain numbers: number.item() for number"
    return ""


def _of_none(one: Any, other: Any, what: str) -> str:
    if one is other:
        return f"{what} is None in all. Trace with an example in which it has a value"
    given = other if one is None else one
    plain = isinstance(given, (*_NUMBERS, str))
    form = "-1.0, or ''" if plain else "torch.zeros(0)" if isinstance(given, torch.Tensor) else "an empty one"
    return f"{what} is None in one and not in another. Give what stands for None: {form}"


def _of_tuples(one: tuple[Any, ...], other: tuple[Any, ...], what: str) -> str:
    if len(one) != len(other):
        return f"{what} is a tuple of {len(one)} in one and of {len(other)} in another. Give lists in place of tuples"
    pairs = enumerate(zip(one, other, strict=True))
    parts = (_difference(a, b, f"part {place} of {what}") for place, (a, b) in pairs)
    return next(filter(None, parts), "")


def _of_class(thing: Any) -> str:
    name = type(thing).__name__.lower() if is_array(thing) else type(thing).__name__
    name = "array" if name == "ndarray" else name
    return f"{'an' if name[0] in 'aeio' else 'a'} {name}"


def _of_arrays(one: Any, other: Any, what: str) -> str:
    """What two tensors or arrays have not in common, or what a list of any length does not hold."""
    if (type(one) is np.ndarray) != (type(other) is np.ndarray):
        return f"{what} is a tensor in one and an array in another. Give tensors only, or arrays only"
    if one.dtype != other.dtype:
        dtypes = (str(each.dtype).removeprefix("torch.") for each in (one, other))
        return f"{what} is of {' in one and of '.join(dtypes)} in another. Give all items one dtype"
    if one.ndim != other.ndim:
        return f"{what} is of rank {one.ndim} in one and of rank {other.ndim} in another. Give all items one rank"
    if isinstance(one, torch.Tensor) and (one.requires_grad or other.requires_grad):
        return f"{what} requires gradients. Trace with x.detach() for x"
    return ""
