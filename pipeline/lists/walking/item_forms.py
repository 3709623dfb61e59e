"""Items of lists of any length that a graph holds as others: arrays and bytes as tensors, namedtuples as tuples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....ops.graph.traverse import subgraphs, walk
from ...proxies.byte_strings import TracedBytes, to_bytes
from ...proxies.lists import TracedList
from ...recording.recorder import Recorder
from ..mapping import each


@dataclass(frozen=True)
class ItemForm:
    """What the function gets for an item of a list that is an argument.

    Attributes:
        kind: the class of what the function gets.
        parts: the forms of its parts by their places or keys, None for a part that is as the graph has it.
    """

    kind: type
    parts: tuple[tuple[Any, ItemForm | None], ...] = ()

    def held(self, item: Any, leaf: Callable[[Any], Any]) -> Any:
        """An item of an example as a graph holds it; `leaf` makes the tensor of an array or of bytes."""
        if self.kind in (np.ndarray, bytes):
            return leaf(item)
        if issubclass(self.kind, np.generic):
            return item.item()
        if self.kind is list:
            return [_held(self.parts[0][1], part, leaf) for part in item]
        if self.kind is dict:
            return {key: _held(form, item[key], leaf) for key, form in self.parts}
        return tuple(_held(form, item[place], leaf) for place, form in self.parts)

    def fields(self, path: str = "[]") -> Iterator[tuple[str, tuple[str, ...]]]:
        """The names of the fields of named tuples, each with the path to them: ``[]`` is any item of a list."""
        if (names := getattr(self.kind, "_fields", None)) is not None:
            yield path, names
        for key, form in self.parts:
            if form is not None:
                yield from form.fields(path + ("[]" if self.kind is list else f"[{key!r}]"))

    def names(self, path: str = "[]") -> Iterator[tuple[str, str]]:
        """The names of the classes of named tuples, each with the path to them."""
        if hasattr(self.kind, "_fields"):
            yield path, self.kind.__name__
        for key, form in self.parts:
            if form is not None:
                yield from form.names(path + ("[]" if self.kind is list else f"[{key!r}]"))

    def given(self, item: Any, recorder: Recorder | None) -> Any:
        """What the function gets for what a graph holds."""
        if self.kind is np.ndarray:
            return item.numpy()
        if self.kind is bytes:
            return to_bytes(item) if recorder is None else TracedBytes(recorder, item)
        if issubclass(self.kind, np.generic):
            whole = type(item) is int and issubclass(self.kind, np.inexact)  # an int that is tried for a float
            return item if recorder is not None or whole else self.kind(item)
        if self.kind is list:
            return items_given(self.parts[0][1], item, recorder)
        if self.kind is dict:
            return {key: _given(form, item[key], recorder) for key, form in self.parts}
        parts = [_given(form, item[place], recorder) for place, form in self.parts]
        return tuple(parts) if self.kind is tuple else self.kind(*parts)


def form_of_items(items: Sequence[Any]) -> ItemForm | None:
    """The form of the items of a list; None where a graph holds them as they are, or where they are not alike."""
    found = set(map(_form, items))
    return found.pop() if len(found) == 1 else None


def items_given(form: ItemForm | None, items: Any, recorder: Recorder | None) -> Any:
    """The list that the function gets."""
    if form is None:
        return items
    if recorder is None or type(items) is not TracedList:
        return type(items)(form.given(item, recorder) for item in items)
    mark = len(recorder.nodes)
    found = each(recorder, lambda item: form.given(item, recorder), items)
    found.given = items.given
    for node in recorder.nodes[mark:]:
        for inner in [node, *(inner for graph in subgraphs(node) for inner in walk(graph))]:
            inner.line = None  # no code of the function made them
    return found


def _form(item: Any) -> ItemForm | None:
    kind = type(item)
    if kind in (np.ndarray, bytes) or issubclass(kind, np.number | np.bool_):
        return ItemForm(kind)
    if kind is list:
        part = form_of_items(item)
        return None if part is None else ItemForm(kind, ((0, part),))
    pairs = item.items() if kind is dict else enumerate(item) if isinstance(item, tuple) else ()
    parts = tuple((key, _form(part)) for key, part in pairs)
    special = kind is not tuple and hasattr(kind, "_make")
    return ItemForm(kind, parts) if special or any(part is not None for _, part in parts) else None


def _held(form: ItemForm | None, part: Any, leaf: Callable[[Any], Any]) -> Any:
    return part if form is None else form.held(part, leaf)


def _given(form: ItemForm | None, part: Any, recorder: Recorder | None) -> Any:
    return part if form is None else form.given(part, recorder)
