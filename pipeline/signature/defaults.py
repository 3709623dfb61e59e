"""The defaults of parameters that have an example: which of them a call of the pipeline may rely on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...ops.graph.graph import Record
from ...ops.graph.program import REQUIRED, Parameters, Slot
from ...ops.graph.traverse import leaves as leaves_of
from ..proxies.trees import list_type
from ..running.stand_ins import fixed, same
from .arguments import Given

_EVERY = "every call has to give it. Trace with an example of the form of the default"


def fitting(argument: Given, tree: Any, leaves: Sequence[Any]) -> Any:
    """The default that a call may rely on: it is of the example's form, and of a fixed example its value.

    Args:
        argument: the parameter with its example.
        tree: the form of the example.
        leaves: the flat inputs that the slots of the tree stand for.
    """
    default = argument.default
    if default is REQUIRED or not argument.given:
        return default if default is REQUIRED else fixed(default)
    return _form(default) if _fits(default, argument.value, tree, leaves) else REQUIRED


def lost_defaults(given: Sequence[Given], parameters: Parameters) -> Iterator[str]:
    """A line for each default of another form than its example, so that every call has to give the parameter."""
    required = {item.name for item in parameters.items if item.required and any(map(_is_slot, leaves_of(item.tree)))}
    for each in given:
        if each.given and each.name in required and each.default is not REQUIRED and each.default is not None:
            yield f"the default of {each.name!r} does not count, because the example has another form: {_EVERY}"


def _is_slot(leaf: Any) -> bool:
    return isinstance(leaf, Slot)


def _form(default: Any) -> Any:
    """A default as a signature holds it: a namedtuple as a tuple."""
    if isinstance(default, tuple):
        return tuple(map(_form, default))
    if isinstance(default, list):
        return list(map(_form, default))
    if isinstance(default, dict):
        return {key: _form(item) for key, item in default.items()}
    return fixed(default)


def _fits(default: Any, example: Any, tree: Any, leaves: Sequence[Any]) -> bool:
    match tree:
        case Slot(index):
            return _fits_input(default, example, leaves[index])
        case dict():
            alike = isinstance(default, dict) and default.keys() == tree.keys()
            return alike and all(_fits(default[key], example[key], part, leaves) for key, part in tree.items())
        case tuple() | list() | Record():
            parts = tree.items if isinstance(tree, Record) else tree
            alike = type(default) is type(example) and len(default) == len(parts)
            return alike and all(_fits(*each, leaves) for each in zip(default, example, parts, strict=True))
    return same(fixed(default), tree)


def _fits_input(default: Any, example: Any, leaf: Any) -> bool:
    """Whether a default is of the type of an input: a list of whatever length, a tuple of texts for a list of them."""
    if isinstance(leaf, list):
        return isinstance(default, list | tuple) and (not default or list_type(list(default)) == list_type(leaf))
    return type(default) is type(example)
