"""The JSON schema of a pipeline, for forms, clients and validators: tensors are nested lists. No torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...ops.graph.graph import Graph, Literal, Record
from ...ops.graph.program import Parameters, Slot
from ...ops.graph.types import ListType, TensorType, Type
from .arrays.array_types import ArrayTypes
from .arrays.tensors_of_lists import UnsureTensor
from .container_kinds import DictType, Known, OptionalType, containers
from .fields import type_of_output

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SCALARS: dict[str, dict[str, Any]] = {
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "complex": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
    "str": {"type": "string"},
    "strings": {"type": "array", "items": {"type": "string"}},
    "array": {"type": "array"},
    "any": {},  # a list or a dict that a run makes, of whatever
}


def json_schema(name: str, parameters: Parameters, graph: Graph) -> dict[str, Any]:
    """The schema of a document with the inputs and the outputs of a pipeline; see `Pipeline.json_schema`."""
    properties = {item.name: _with_default(_tree(item.tree, _input(parameters)), item) for item in parameters.items}
    inputs = {
        "type": "object",
        "properties": properties,
        "required": [item.name for item in parameters.items if item.required],
        "additionalProperties": False,
    }
    return {
        "$schema": DIALECT,
        "title": name,
        "type": "object",
        "properties": {
            "inputs": inputs,
            "outputs": _tree(graph.output, _output({**ArrayTypes(graph).found, **containers(graph)})),
        },
    }


def _with_default(schema: dict[str, Any], item: Any) -> dict[str, Any]:
    return schema if item.required or "const" in schema else {**schema, "default": _json(item.default)}


def _input(parameters: Parameters) -> Callable[[Any], dict[str, Any]]:
    return lambda leaf: _of_type(parameters.types[leaf.index]) if isinstance(leaf, Slot) else {"const": _json(leaf)}


def _output(held: Mapping[int, Type | Known]) -> Callable[[Any], dict[str, Any]]:
    def schema(leaf: Any) -> dict[str, Any]:
        kind = held.get(id(leaf)) or type_of_output(leaf)
        return {"const": _json(leaf)} if kind is None else _of_type(kind)

    return schema


def _tree(tree: Any, leaf: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    match tree:
        case Record():
            return _object({key: _tree(part, leaf) for key, part in zip(tree.fields, tree.items, strict=True)})
        case dict():
            return _object({str(key): _tree(part, leaf) for key, part in tree.items()})
        case tuple() | list():
            parts = [_tree(part, leaf) for part in tree]
            items = {"prefixItems": parts} if parts else {}  # which may not be empty
            return {"type": "array", **items, "minItems": len(parts), "maxItems": len(parts)}
    return leaf(tree)


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _of_type(kind: Type | Known) -> dict[str, Any]:
    """A value as JSON has it: a tensor is lists of lists, its dtype and sizes stand beside them."""
    if not isinstance(kind, TensorType):
        if isinstance(kind, ListType):
            return {"type": "array", "items": _tree(kind.item, _of_type)}
        if isinstance(kind, DictType):
            return {"type": "object", "additionalProperties": _tree(kind.item, _of_type)}
        if isinstance(kind, OptionalType):
            return {"anyOf": [_tree(kind.item, _of_type), {"type": "null"}]}
        if isinstance(kind, UnsureTensor):
            return {"anyOf": list(map(_of_type, kind.types))}
        return dict(_SCALARS[kind.kind])
    schema = _element(kind.dtype)
    for size in reversed(kind.shape):
        schema = {"type": "array", "items": schema}
        if isinstance(size, int):
            schema |= {"minItems": size, "maxItems": size}
    return {**schema, "x-dtype": kind.dtype, "x-shape": [None if size == "?" else size for size in kind.shape]}


def _element(dtype: str) -> dict[str, Any]:
    scalar = "bool" if dtype == "bool" else "complex" if dtype.startswith("complex") else "float"
    return dict(_SCALARS["int" if dtype.startswith(("int", "uint")) else scalar])


def _json(value: Any) -> Any:
    """A fixed value as JSON has it: a dtype and a device by name, a tuple as a list, a complex number as a pair."""
    match value:
        case Literal():
            return value.name
        case tuple() | list():
            return [_json(item) for item in value]
        case dict():
            return {str(key): _json(item) for key, item in value.items()}
        case complex():
            return [value.real, value.imag]
        case bytes():
            return value.decode("latin-1")
    return value
