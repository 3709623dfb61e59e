"""Lists whose items are not alike: ints among floats become floats; any others keep the length of the example."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .proxies.trees import list_type


def leveled(items: list[Any]) -> list[Any]:
    """The items with a float for each int where another item has a float, in records and lists of items, too."""
    kinds = {type(item) for item in items}
    if kinds == {int, float}:
        floats = [float(item) for item in items]
        return floats if floats == items or any(item != item for item in items) else items
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


def unlike_lists(value: Any, where: str) -> Iterator[str]:
    """A line for each list of an argument that keeps its length because its plain items differ."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from unlike_lists(item, f"{where}[{key!r}]")
    if type(value) is not list or len(value) < 2 or list_type(leveled(value)) is not None:
        return
    if all(map(_is_plain, value)):
        fixed = f"the length of {where!r} is fixed to {len(value)}, because {_difference(value)}"
        yield f"{fixed}. A list of any length takes items of one kind: pass math.nan or '' for what is missing"


_PLAIN = (bool, int, float, str, type(None))


def _is_plain(item: Any) -> bool:
    if isinstance(item, dict | list | tuple):
        return all(map(_is_plain, item.values() if isinstance(item, dict) else item))
    return type(item) in _PLAIN


def _difference(items: list[Any]) -> str:
    if all(type(item) is dict for item in items):
        for item in items:
            if item.keys() != items[0].keys():
                return f"its records have different keys: {list(items[0])} and {list(item)}"
        for key in items[0]:
            column = [item[key] for item in items]
            if list_type(column) is None:
                return f"the field {key!r} of its records is {_kinds(column)}"
    return f"its items are {_kinds(items)}"


def _kinds(items: list[Any]) -> str:
    found = dict.fromkeys("None" if item is None else type(item).__name__ for item in items)
    return " and ".join(found) if len(found) > 1 else "not alike"
