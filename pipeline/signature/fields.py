"""The fields of a signature: the inputs and outputs of a pipeline as data for programs. No torch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ...ops.graph.graph import Constant, Graph, Literal, Record, Value
from ...ops.graph.program import REQUIRED, Parameters, Slot
from ...ops.graph.text import types_text
from ...ops.graph.types import Dim, ListType, ScalarType, TensorType, Type
from .arrays.array_types import ArrayTypes
from .arrays.tensors_of_lists import UnsureTensor
from .container_kinds import Known, containers

Path = tuple[str | int, ...]
FIXED = "fixed"


@dataclass(frozen=True)
class SignatureField:
    """One input or output.

    Attributes:
        name: as signatures and errors write it, such as ``"batch['ids']"``; an output is ``"out"``, ``"out[0]"`` …
        path: the way to it through containers, such as ``("batch", "ids")``; of an output, what follows ``out``.
        kind: ``"tensor"``; ``"int"``, ``"float"``, ``"bool"``, ``"complex"``, ``"str"``, ``"strings"`` (a list of
            them); ``"array"`` of numpy; ``"list"``, one of any length whose items are alike; ``"any"``, what data
            decides: a number, a list, a dict; ``"fixed"``, which never changes.
        dtype: of a tensor, torch's name such as ``"float32"``, and of an array that functions of numpy make whose
            sizes follow from those of others; None for anything else, and of a tensor where it hangs on whether a
            list is empty.
        shape: of a tensor, and of such an array: a number is a fixed size, a string such as ``"N"`` or ``"2*N"`` a free
            one, and equal strings are equal sizes; None is a size that data decides. None for anything else, and of a
            tensor whose number of dimensions data decides.
        default: the value where an input is not given; None as well where it must be. Of a fixed field its only value.
        required: whether an input must be given.
        type: of a list or a dict of run time what it holds, such as ``"list[float]"`` or ``"dict[str, int]"``, where
            the nodes tell; of a tensor of no one dtype what it may be, ``"i64[?] or f32[0]"``; None for anything else.
    """

    name: str
    path: Path
    kind: str
    dtype: str | None = None
    shape: tuple[int | str | None, ...] | None = None
    default: Any = None
    required: bool = True
    type: str | None = None


def input_fields(parameters: Parameters) -> list[SignatureField]:
    """The inputs of a pipeline, those in containers each for itself; a fixed one is one field."""
    found: list[SignatureField] = []
    for item in parameters.items:
        parts = list(_walk(item.tree, (item.name,)))
        if not any(isinstance(leaf, Slot) for _, leaf in parts):
            found.append(
                SignatureField(item.name, (item.name,), FIXED, default=_plain(item.tree), required=item.required)
            )
            continue
        for (path, leaf), (_, part) in zip(parts, item.defaults(), strict=True):
            if isinstance(leaf, Slot):
                default = None if part is REQUIRED else _plain(part)
                kind = parameters.types[leaf.index]
                found.append(_field(parameters.names[leaf.index], path, kind, default, item.required))
            else:
                found.append(SignatureField(_name(path), path, FIXED, default=_plain(leaf), required=item.required))
    return found


def output_fields(graph: Graph) -> list[SignatureField]:
    """The outputs of a pipeline, those in containers each for itself; the default of a fixed one is its value."""
    found, held, arrays = [], containers(graph), ArrayTypes(graph).found
    for path, leaf in _walk(graph.output, ()):
        kind = type_of_output(leaf)
        name = _name(("out", *path))
        field = SignatureField(name, path, FIXED, default=_plain(leaf)) if kind is None else _field(name, path, kind)
        if id(leaf) in arrays:
            of = _field(name, path, arrays[id(leaf)])
            field = replace(field, dtype=of.dtype, shape=of.shape)
        if (known := held.get(id(leaf))) is not None:
            field = _as_known(field, known)
        found.append(field)
    return found


def output_text(graph: Graph) -> str:
    """The types of the outputs in their containers, as signatures show them."""
    unsure = {key: known for key, known in containers(graph).items() if isinstance(known, UnsureTensor)}
    return types_text(graph.output, unsure)


def _as_known(field: SignatureField, known: Known) -> SignatureField:
    """An output of no type in the graph, by what its nodes tell."""
    match known:
        case ScalarType(kind):
            return replace(field, kind=kind)
        case UnsureTensor():
            return replace(field, kind="tensor", dtype=known.dtype, shape=_sizes(known.shape), type=str(known))
    return replace(field, type=str(known))


def type_of_output(leaf: Any) -> Type | None:
    """The type of a value, or of a tensor that the graph holds; None for a plain value."""
    return leaf.type if isinstance(leaf, Value) else leaf.type() if isinstance(leaf, Constant) else None


def _field(name: str, path: Path, kind: Type, default: Any = None, required: bool = True) -> SignatureField:
    if isinstance(kind, TensorType):
        return SignatureField(name, path, "tensor", kind.dtype, _sizes(kind.shape), default, required)
    held = str(kind) if isinstance(kind, ListType) else None
    return SignatureField(name, path, kind.kind, default=default, required=required, type=held)


def _sizes(shape: tuple[Dim, ...] | None) -> tuple[Dim | None, ...] | None:
    return None if shape is None else tuple(None if size == "?" else size for size in shape)


def _walk(tree: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """The leaves of a tree with the way to them."""
    match tree:
        case Record():
            pairs: Iterable[tuple[Any, Any]] = zip(tree.fields, tree.items, strict=True)
        case tuple() | list():
            pairs = enumerate(tree)
        case dict():
            pairs = tree.items()
        case _:
            yield path, tree
            return
    for key, part in pairs:
        yield from _walk(part, (*path, key))


def _name(path: Path) -> str:
    return str(path[0]) + "".join(f"[{key!r}]" for key in path[1:])


def _plain(tree: Any) -> Any:
    """A fixed value as plain data: a dtype and a device by name."""
    if isinstance(tree, Literal):
        return tree.name
    if type(tree) is dict:
        return {key: _plain(item) for key, item in tree.items()}
    return type(tree)(map(_plain, tree)) if type(tree) in (tuple, list) else tree
