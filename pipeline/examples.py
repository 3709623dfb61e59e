"""Takes example arguments apart into parameters and flat leaves, and builds arguments from other leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
import torch

from ..ops.graph.errors import SignatureError
from ..ops.graph.graph import Literal
from ..ops.graph.program import Parameter, Slot
from ..ops.graph.types import SCALARS
from ..ops.lowering.held_objects import is_held
from ..ops.runtime.primitives.named_tuples import fields_of, is_record, to_record
from ..ops.tracing_hook import current
from .lists.walking.item_forms import ItemForm, items_given
from .proxies.byte_strings import TracedBytes, to_bytes
from .proxies.lists import TracedList
from .proxies.trees import list_type, plain_form
from .recheck.given.containers import alike as alike_containers
from .recheck.given.containers import is_special
from .recheck.vary import clones
from .recording.recorder import Recorder
from .running.binding import as_tensor
from .running.rebuild import rebuild
from .running.stand_ins import fixed
from .signature.arguments import Given, is_plain
from .signature.defaults import fitting, form_of_default
from .unlike_items import held_items, is_leveled, leveled

MOST_LEVELS = 200  # of containers in one argument


def describe(given: Sequence[Given], free: bool = False) -> tuple[Examples, list[str]]:
    """Takes example arguments apart, and gives a name to each leaf.

    Args:
        given: the arguments.
        free: whether a list whose items are alike is one leaf, of any length.

    Raises:
        SignatureError: a value that no pipeline can take.
    """
    names: list[str] = []
    leaves: list[Any] = []
    arrays: set[int] = set()
    raw: set[int] = set()
    special: dict[int, torch.Tensor] = {}
    numbers: dict[int, type[np.generic]] = {}
    objects: dict[Literal, Any] = {}
    lists: dict[int, ItemForm] = {}
    whole: dict[int, list[Any]] = {}

    def tree(value: Any, where: str) -> Any:
        if where.count("[") > MOST_LEVELS:
            raise SignatureError(
                "an example is nested too deeply", where=f"input {where[:60]!r}", expected=f"{MOST_LEVELS} levels"
            )
        if value is None or isinstance(value, torch.dtype | torch.device | Enum | range | slice):
            return _pinned(value, where, objects)
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            return slot(value, where)
        if free and type(value) is list and (level := _of_any_length(value, len(leaves), lists, whole)) is not None:
            return slot(level, where)
        if is_record(value):
            parts = zip(fields_of(value), value, strict=True)
            return to_record(value, tuple(tree(part, f"{where}.{name}") for name, part in parts))
        if isinstance(value, tuple | list):
            items = [tree(item, f"{where}[{index}]") for index, item in enumerate(value)]
            return tuple(items) if isinstance(value, tuple) else items
        if isinstance(value, Mapping):
            for key in value:
                if key is not None and type(key) not in (str, int, float, bool):
                    raise SignatureError(
                        "a dict has a key that an archive cannot hold",
                        where=f"input {where!r}", got=repr(key), expected="str or a number",
                    )  # fmt: skip
            return {key: tree(item, f"{where}[{key!r}]") for key, item in value.items()}
        return slot(value, where)

    def slot(value: Any, where: str) -> Slot:
        leaf = as_tensor(value) if not isinstance(value, np.generic) else value.item()
        if type(value) is bytes:
            raw.add(len(leaves))
        leaf = value if leaf is None else leaf
        if not isinstance(leaf, torch.Tensor | list) and type(leaf) not in SCALARS:
            raise SignatureError(
                "a value that a pipeline cannot take",
                where=f"input {where!r}",
                got=f"{type(value).__module__}.{type(value).__qualname__}",
                expected="tensors, arrays, numbers, strings, and tuples, lists and dicts of them",
                fix=_fix(value, where),
            )
        if isinstance(value, np.ndarray):
            arrays.add(len(leaves))
        if isinstance(value, np.generic):
            numbers[len(leaves)] = type(value)
        if isinstance(value, torch.Tensor):
            _require_memory(value, where)
            if type(value) is not torch.Tensor or value.requires_grad or vars(value):
                special[len(leaves)] = value
        names.append(where)
        leaves.append(leaf)
        return Slot(len(leaves) - 1)

    trees = [tree(a.value, a.name) if a.given else form_of_default(a.value) for a in given]
    items = tuple(Parameter(a.name, a.kind, t, fitting(a, t, leaves)) for a, t in zip(given, trees, strict=True))
    originals = {a.name: a.value for a in given if a.given and is_special(a.value)}
    collected = [a.name for a in given if a.collected]
    for a in given:
        objects.update({fixed(value): value for value in _parts(a.value) if isinstance(fixed(value), Literal)})
    made = Examples(
        items,
        leaves,
        frozenset(arrays),
        _keywords(given),
        special,
        numbers,
        originals,
        collected,
        objects=objects,
        raw=frozenset(raw),
        lists=lists,
        whole=whole,
        own=frozenset(a.name for a in given if a.own),
    )
    return made, names


def _of_any_length(
    items: list[Any], number: int, lists: dict[int, ItemForm], whole: dict[int, list[Any]]
) -> list[Any] | None:
    """A list as the leaf of some number, whose form and ints among floats are noted; None where its length is fixed."""
    held, form = held_items(items)
    if list_type(level := leveled(held)) is None:
        return None
    if form is not None:
        lists[number] = form
    if is_leveled(held, level):
        whole[number] = held
    return level


def _keywords(given: Sequence[Given]) -> list[str]:
    """The arguments that a call of the function names: those behind one that it keeps, too."""
    own = next((number for number, argument in enumerate(given) if argument.own), len(given))
    behind = [argument.name for argument in given[own:] if argument.kind == "positional"]
    return [argument.name for argument in given if argument.kind == "keyword"] + behind


def _pinned(value: Any, where: str, objects: dict[Literal, Any]) -> Any:
    """A value that the signature holds, in the form of the IR; those that it holds by name are added to `objects`."""
    found = fixed(value)
    if type(value) is slice and not is_plain(value):
        raise SignatureError("a slice of run-time values", where=f"input {where!r}", fix="Pass its ends as numbers.")
    if isinstance(found, Literal):
        objects[found] = value
    return found


def _parts(value: Any) -> list[Any]:
    """A fixed value, or the items of a tuple of them."""
    return [part for item in value for part in _parts(item)] if type(value) is tuple else [value]


_HELD = "Pass what it holds, and make it of that in the function."
_CACHE = (
    "Pass its keys and values, [(layer.keys, layer.values) for layer in {0}.layers], and write DynamicCache({0}) in "
    "the function, as 'Text generation' in docs/guide.md and samples/generate.py do."
)
_INSTEAD: dict[type[Any], str] = {
    bytearray: "Pass bytes(data), or torch.frombuffer(data, dtype=torch.uint8).",
    set: "Pass a sorted list, and make the set in the function.",
    frozenset: "Pass a sorted list, and make the set in the function.",
}


def _fix(value: Any, where: str) -> str:
    if is_held(value):
        return _CACHE.format(where) if type(value).__name__ == "DynamicCache" else _HELD
    form = plain_form(value, where)
    if not form:
        return _INSTEAD.get(type(value), "")
    entry = "the list of a column" if "to_dict" in form else "an entry"
    inside = "" if "to_list" in form else f"; in the function {where}['name'] is {entry} then"
    return f"Pass {form}: records are dicts or namedtuples{inside}."


def _require_memory(tensor: torch.Tensor, where: str) -> None:
    """Refuses nested, meta and sparse tensors."""
    kind = "nested" if tensor.is_nested else "meta" if tensor.is_meta else ""
    kind = kind or str(tensor.layout).removeprefix("torch.") * (tensor.layout is not torch.strided)
    if kind:
        raise SignatureError("not a plain tensor", where=f"input {where!r}", got=f"a {kind} tensor")


def alike(special: dict[int, torch.Tensor], copies: list[Any]) -> list[Any]:
    """Copies of leaves that keep what else the originals are: parameters, with gradients, with attributes."""
    for index, original in special.items():
        copy = copies[index]
        if isinstance(original, torch.nn.Parameter):
            copy = torch.nn.Parameter(copy, original.requires_grad)
        elif type(original) is not torch.Tensor:
            copy = copy.as_subclass(type(original))
        copy.__dict__.update(vars(original))
        copies[index] = copy.requires_grad_(original.requires_grad)
    return copies


@dataclass(frozen=True)
class Examples:
    """The arguments to record with.

    Attributes:
        items: the function's parameters.
        leaves: their leaves, arrays as tensors over the same memory.
        arrays: the positions of the leaves that the function gets as numpy arrays.
        keywords: names of the parameters passed by keyword.
        special: position -> a tensor with more than a signature tells: a parameter, one with gradients or attributes.
        numbers: position -> the class of a number of numpy, which a signature holds as a plain number.
        originals: parameters whose examples have containers of other classes than those that a signature holds.
        collected: names of the arguments that the function takes as ``**kwargs``.
        dicts: what is done with the dicts of arguments; by default they are as in the originals.
        objects: the members of Enums, slices and the like that a signature holds by name.
        raw: the positions of the leaves that the function gets as bytes: here they are tensors of uint8.
        lists: the forms in which the function gets the items of lists of any length, where these are others here.
        whole: position -> the items as they were given, of a list of any length whose ints among floats became floats.
        own: parameters that the function is not given, since it keeps their defaults itself.
    """

    items: tuple[Parameter, ...]
    leaves: Sequence[Any]
    arrays: frozenset[int]
    keywords: Sequence[str]
    special: dict[int, torch.Tensor]
    numbers: Mapping[int, type[np.generic]]
    originals: Mapping[str, Any]
    collected: Sequence[str]
    dicts: Callable[[Any], Any] | None = None
    objects: Mapping[Literal, Any] = field(default_factory=dict)
    raw: frozenset[int] = frozenset()
    lists: Mapping[int, ItemForm] = field(default_factory=dict)
    whole: Mapping[int, list[Any]] = field(default_factory=dict)
    own: frozenset[str] = frozenset()

    def alike(self, leaves: Sequence[Any]) -> list[Any]:
        """Copies of leaves that are parameters, have gradients or attributes where the examples do."""
        return alike(self.special, clones(leaves))

    def call(self, leaves: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments built from leaves; inside a recording the conversion to numpy arrays is recorded, too."""
        handed = [leaf.numpy() if index in self.arrays else leaf for index, leaf in enumerate(leaves)]
        for index in self.raw:
            recorder = current()
            if isinstance(recorder, Recorder) and leaves[index] in recorder.values:
                handed[index] = TracedBytes(recorder, leaves[index])
            else:
                handed[index] = to_bytes(leaves[index])
        for index, form in self.lists.items():
            recorder = current()
            here = recorder if isinstance(recorder, Recorder) and type(leaves[index]) is TracedList else None
            handed[index] = items_given(form, leaves[index], here)
        for index, kind in self.numbers.items():
            whole = type(handed[index]) is int and issubclass(kind, np.inexact)  # an int that is tried for a float
            if type(handed[index]) in SCALARS and not whole:  # a recording gets plain numbers
                handed[index] = kind(handed[index])
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for item in self.items:
            if item.name in self.own:
                continue
            value = rebuild(item.tree, handed, self.objects)
            if self.dicts is not None:
                value = self.dicts(value)
            elif item.name in self.originals:
                value = alike_containers(self.originals[item.name], value)
            if item.name in self.keywords:
                kwargs[item.name] = value
            elif item.kind == "variadic":
                args += value
            else:
                args.append(value)
        return args, kwargs
