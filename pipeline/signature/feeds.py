"""Makes the feed for `run` from plain arrays and JSON values, as the pipeline's parameters ask for them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...ops.graph.errors import SignatureError
from ...ops.graph.graph import Literal, Record
from ...ops.graph.program import Items, Parameters, Slot
from ...ops.graph.text import plain_text
from ...ops.graph.traverse import leaves
from ...ops.graph.types import STR, STRINGS, ListType, ScalarType, TensorType, Type
from ...ops.runtime.checks import wrong_keys
from ..running.convert import converted, rounded


class FileText(str):
    """The content of a text file: lines where a list of strings is wanted, else a text without the last line's end."""


def plain_name(name: str) -> str:
    """A name of the signature without brackets and quotes.

    Example:
        >>> plain_name("batch['ids'][0]")
        'batch.ids.0'
    """
    return re.sub(r"\[(['\"]?)(.*?)\1\]", r".\2", name)


def build_feed(parameters: Parameters, given: Mapping[str, Any]) -> dict[str, Any]:
    """The feed dict of a pipeline from inputs by their plain names.

    Raises:
        SignatureError: an input is missing or unknown, or cannot become what the signature wants.
    """
    absent = {p.name for p in parameters.items if p.default is None}  # those that are None where they are not given
    left = {name: value for name, value in given.items() if value is not None or name not in absent}
    names = [plain_name(name) for name in parameters.names]
    known = {name[:end] for name in names for end in [*_ends(name), len(name)]} | {p.name for p in parameters.items}
    if unknown := [name for name in given if name not in known]:
        raise SignatureError("unknown input", where=f"input {unknown[0]!r}", expected=str(parameters) or "no inputs")
    given_here = [p for p in parameters.items if p.required or _is_given(p.name, left)]
    feed = {item.name: _fill(item.tree, item.name, left, parameters, names) for item in given_here}
    if left:
        twice = next(iter(left))
        raise SignatureError("an input is given as a whole and in parts", where=f"input {twice!r}")
    return feed


def _ends(name: str) -> list[int]:
    """Where the names of the containers end that an input is in."""
    return [index for index, letter in enumerate(name) if letter == "."]


def _is_given(name: str, given: Mapping[str, Any]) -> bool:
    return any(key == name or key.startswith(f"{name}.") for key in given)


def _fill(tree: Any, name: str, left: dict[str, Any], parameters: Parameters, names: Sequence[str]) -> Any:
    """The value of a parameter, given as a whole or in parts."""
    if isinstance(tree, Slot):
        name = names[tree.index]
    if plain_name(name) in left:
        return _shaped(tree, left.pop(plain_name(name)), name, parameters)
    if isinstance(tree, Slot):
        kind = parameters.types[tree.index]
        raise SignatureError("missing input", where=f"input {parameters.names[tree.index]!r}", expected=kind)
    return _map(tree, lambda part, key: _fill(part, f"{name}.{key}", left, parameters, names))


def _shaped(tree: Any, value: Any, name: str, parameters: Parameters) -> Any:
    """The value of a parameter that was given as a whole: as nested JSON, or as arrays of an .npz file by key."""
    if isinstance(tree, Slot):
        return to_input(value, parameters.types[tree.index], parameters.names[tree.index])
    if not any(isinstance(leaf, Slot) for leaf in leaves(tree)):
        return _fixed(tree, value, name)
    if isinstance(tree, tuple | list) and isinstance(value, list) and len(value) == len(tree):
        return _map(tree, lambda part, key: _shaped(part, value[key], f"{name}.{key}", parameters))
    if isinstance(tree, dict | Record) and isinstance(value, dict):
        keys = [str(key) for key in (tree if isinstance(tree, dict) else tree.fields)]
        if sorted(keys) == sorted(value):
            return _map(tree, lambda part, key: _shaped(part, value[str(key)], f"{name}.{key}", parameters))
        raise SignatureError(wrong_keys(value, keys), where=f"input {name!r}", got=list(value), expected=keys)
    raise SignatureError(
        "another structure", where=f"input {name!r}", got=type(value).__name__, expected=_outline(tree)
    )


def _fixed(tree: Any, value: Any, name: str) -> Any:
    """A value that the signature holds; what is given for it must be the same.

    Raises:
        SignatureError: it is another one.
    """
    if not _equal(_json_form(tree), value):
        raise SignatureError(
            "a fixed value differs", where=f"input {name!r}", got=repr(value)[:80], expected=plain_text(tree)[:80],
            fix="Leave it out, or trace the function with an example of it that is an input.",
        )  # fmt: skip
    return tree


def _json_form(tree: Any) -> Any:
    match tree:
        case Literal():
            return tree.name
        case Record():
            return {key: _json_form(item) for key, item in zip(tree.fields, tree.items, strict=True)}
        case tuple() | list():
            return [_json_form(item) for item in tree]
        case dict():
            return {str(key): _json_form(item) for key, item in tree.items()}
    return tree


def _equal(wanted: Any, value: Any) -> bool:
    """Whether values of JSON are equal, True no number; a float may be written as an integer."""
    match wanted, value:
        case dict(), dict():
            return wanted.keys() == value.keys() and all(_equal(wanted[key], value[key]) for key in wanted)
        case list(), list():
            return len(wanted) == len(value) and all(map(_equal, wanted, value))
    alike = type(value) is type(wanted) or (type(wanted), type(value)) == (float, int)
    return alike and bool(value == wanted or (value != value and wanted != wanted))


def _map(tree: Any, function: Any) -> Any:
    match tree:
        case Record():
            return Items(function(part, key) for key, part in zip(tree.fields, tree.items, strict=True))
        case tuple():
            return tuple(function(part, index) for index, part in enumerate(tree))
        case list():
            return [function(part, index) for index, part in enumerate(tree)]
        case dict():
            return {key: function(part, key) for key, part in tree.items()}
    return tree


def _outline(tree: Any) -> str:
    match tree:
        case dict():
            return f"an object with the keys {', '.join(map(str, tree))}"
        case Record():
            return f"an object with the keys {', '.join(tree.fields)}"
    return f"a list of {len(tree)}"


def to_input(value: Any, kind: Type, name: str) -> Any:
    """One flat input from an array, text, or a value of JSON, which is converted as `load(convert=True)` does.

    Raises:
        SignatureError: it cannot become a value of that type without loss.

    Example:
        >>> to_input([1, 2], TensorType("float32", (2,)), "x")
        tensor([1., 2.])
    """
    if isinstance(kind, TensorType):
        return _to_tensor(value, kind, name)
    if isinstance(value, dict):
        raise SignatureError("another structure", where=f"input {name!r}", got="an object", expected=kind)
    if isinstance(kind, ListType):
        items = value.tolist() if isinstance(value, np.ndarray) else value
        if not isinstance(items, list):
            raise SignatureError("not a list", where=f"input {name!r}", got=type(value).__name__, expected=kind)
        return [_item(item, kind.item, f"{name}[{index}]") for index, item in enumerate(items)]
    return _to_scalar(value, kind, name)


def _item(value: Any, kind: Any, name: str) -> Any:
    """An item of a list from a value of JSON; one of another structure is left to the check of the inputs."""
    if isinstance(kind, dict):
        alike = isinstance(value, dict) and value.keys() == set(map(str, kind))
        return {key: _item(value[str(key)], part, f"{name}[{key!r}]") for key, part in kind.items()} if alike else value
    if isinstance(kind, tuple):
        alike = isinstance(value, list) and len(value) == len(kind)
        return Items(_item(*pair, name) for pair in zip(value, kind, strict=True)) if alike else value
    return to_input(value, kind, name)


def _to_scalar(value: Any, kind: ScalarType, name: str) -> Any:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, FileText) and kind in (STR, STRINGS):
        return value.splitlines() if kind == STRINGS else str(value).removesuffix("\n")
    return converted(value, kind, name)


def _to_tensor(value: Any, kind: TensorType, name: str) -> Any:
    """A tensor: arrays keep their dtype, so that a wrong one is an error; JSON takes the dtype of the input."""
    if not isinstance(value, np.ndarray):
        return converted(value, kind, name)
    foreign = not hasattr(np, "bool_" if kind.dtype == "bool" else kind.dtype)  # numpy has no such dtype
    return rounded(value, kind, name) if foreign else value
