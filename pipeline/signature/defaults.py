"""The defaults of parameters that have an example: which of them a call of the pipeline may rely on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from ...ops.graph.graph import Record
from ...ops.graph.program import REQUIRED, Parameters, Slot
from ...ops.graph.traverse import leaves as leaves_of
from ..proxies.trees import list_type
from ..running.stand_ins import fixed, same
from .arguments import Given, is_data, parameters_of

GIVEN_ALWAYS = "every call has to give it"
_FORM = f"{GIVEN_ALWAYS}. Trace with an example of the form of the default"
_OWN = f"{GIVEN_ALWAYS}. Trace without an example of it, and it is that of the function"
_FILE = "Trace without an example of it for a file that has the default"
_GIVE = "Trace with an example of it, {0}={0}, and calls give it"
_OF_SET = "Let it take a list, and make the set in the function: set({0})"
_INSTEAD = {
    bool: "Give it the default False or True",
    int: "Let a number stand for None, {0}=-1, and ask for it: if {0} == -1:",
    float: "Let a number stand for None, {0}=-1.0, and ask for it: if {0} == -1.0:",
    str: "Let a text stand for None, {0}='', and ask for it: if {0} == '':",
    torch.Tensor: "Give {1} for None, and ask for it: if {0}.numel() == 0:",
    np.ndarray: "Give {1} for None, and ask for it: if {0}.size == 0:",
}
"""What may stand for a default of None beside an example of a type, so that a recording goes both ways."""
_EMPTY = "Let an empty tuple stand for None, {0}=(), and ask for it: if len({0}) == 0:"


def fitting(argument: Given, tree: Any, leaves: Sequence[Any]) -> Any:
    """The default that a call may rely on: it is of the example's form, and of a fixed example its value.

    Args:
        argument: the parameter with its example.
        tree: the form of the example.
        leaves: the flat inputs that the slots of the tree stand for.
    """
    default = argument.default
    if default is REQUIRED or not argument.given:
        return default if default is REQUIRED else form_of_default(default)
    return form_of_default(default) if _fits(default, argument.value, tree, leaves) else REQUIRED


def lost_defaults(given: Sequence[Given], parameters: Parameters) -> Iterator[str]:
    """A line for each default of another form than its example, so that every call has to give the parameter."""
    required = {item.name: item.tree for item in parameters.items if item.required}
    for each in given:
        tree = required.get(each.name)
        if not each.given or not any(map(_is_slot, leaves_of(tree))):
            continue
        if each.lost is not REQUIRED:
            kind = type(each.lost).__name__
            yield f"the default of {each.name!r} does not count, because no signature holds a {kind}: {_OWN}"
        elif each.default is None:
            form = _instead_of_none(each.value, tree).format(each.name, _empty(each.value))
            yield f"{lost_none(each.name)}: {GIVEN_ALWAYS}. {form}"
        elif each.default is not REQUIRED:
            yield f"the default of {each.name!r} does not count, because the example has another form: {_FORM}"


def kept_defaults(process: Any, given: Sequence[Given]) -> Iterator[str]:
    """A line for each parameter that was left to data that no signature shows, which no call can replace.

    A function, a model or a tokenizer as a default is how a function holds it: nobody looks for it in a signature.
    """
    known = {each.name for each in given}
    for parameter in parameters_of(process):
        kind = type(parameter.default)
        if parameter.name in known or not _is_kept(parameter.default):
            continue
        form = _OF_SET if kind in (set, frozenset) else _GIVE
        held = f"{len(parameter.default)} values" if kind in (list, dict) else f"a {kind.__name__}"
        yield (
            f"the default of {parameter.name!r} belongs to the pipeline, because no signature shows {held}: no call "
            f"can give another. {form.format(parameter.name)}"
        )


def _is_kept(default: Any) -> bool:
    if isinstance(default, list | dict | set | frozenset):
        return bool(default) and is_data(sorted(default, key=str) if isinstance(default, set | frozenset) else default)
    return isinstance(default, torch.Tensor | np.ndarray)


def lost_none(name: str) -> str:
    """How the line begins that says of a parameter that its default of None is lost."""
    return f"the default None of {name!r} does not count beside its example"


def may_be_left_out(given: Sequence[Given], parameters: Parameters) -> list[str]:
    """The parameters with an example whose default is None, which no signature holds beside it."""
    lost = {item.name for item in parameters.items if item.required and any(map(_is_slot, leaves_of(item.tree)))}
    return [each.name for each in given if each.given and each.default is None and each.name in lost]


def _instead_of_none(example: Any, tree: Any) -> str:
    """What may stand for None where the example is another thing."""
    if isinstance(example, list) and _is_slot(tree):
        return _EMPTY
    example = example.item() if isinstance(example, np.generic) else example
    if isinstance(example, torch.Tensor | np.ndarray) and example.ndim == 0:
        return _FILE
    return next((form for kind, form in _INSTEAD.items() if isinstance(example, kind)), _FILE)


def _empty(example: Any) -> str:
    """The source of an empty tensor or array of the rank and dtype of an example; empty for anything else."""
    sizes = ", ".join("0" * getattr(example, "ndim", 0))
    if isinstance(example, np.ndarray):
        return f"np.empty(({sizes}{',' * (example.ndim == 1)}), np.{example.dtype})"
    if isinstance(example, torch.Tensor):
        return f"torch.empty({sizes}{'' if example.dtype is torch.float32 else f', dtype={example.dtype}'})"
    return ""


def _is_slot(leaf: Any) -> bool:
    return isinstance(leaf, Slot)


def form_of_default(default: Any) -> Any:
    """A default as a signature holds it: a namedtuple as a tuple."""
    if isinstance(default, tuple):
        return tuple(map(form_of_default, default))
    if isinstance(default, list):
        return list(map(form_of_default, default))
    if isinstance(default, dict):
        return {key: form_of_default(item) for key, item in default.items()}
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
