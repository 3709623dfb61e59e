"""The inputs and outputs of a pipeline with ways, as all of its recordings have them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...ops.graph.program import Program
from ..left_out.ways_without import ways_of
from .fields import FIXED, SignatureField, input_fields, output_fields
from .json_schema import json_schema

_PLAIN = {int: "int", float: "float", bool: "bool", complex: "complex", str: "str"}


def inputs_of(program: Program) -> list[SignatureField]:
    """The inputs: a size that one way fixes or names otherwise than another is None."""
    found = input_fields(program.parameters)
    for way in ways_of(program):
        others = {field.name: field for field in input_fields(way.program.parameters)}
        found = [field if field.path[0] in way.names else merged(field, others[field.name]) for field in found]
    return found


def outputs_of(program: Program) -> list[SignatureField]:
    """The outputs: what ways have otherwise is None, and of unlike kinds ``"any"``."""
    found = output_fields(program.graph)
    for way in ways_of(program):
        found = [merged(*pair) for pair in zip(found, output_fields(way.program.graph), strict=True)]
    return found


def merged(one: SignatureField, other: SignatureField) -> SignatureField:
    """What holds of both."""
    if one == other:
        return one
    kind = _kind(one)
    if kind != _kind(other) or (kind == "tensor" and _cast(one) != _cast(other)):
        return SignatureField(one.name, one.path, "any", required=one.required)
    if kind != "tensor":
        default = None if FIXED in (one.kind, other.kind) else one.default
        return SignatureField(
            one.name, one.path, kind, default=default, required=one.required,
            type=one.type if one.type == other.type else None,
        )  # fmt: skip
    if one.shape is None or other.shape is None:
        return one
    pairs = zip(one.shape, other.shape, strict=True)
    return replace(one, shape=tuple(size if size == beside else None for size, beside in pairs))


def _kind(field: SignatureField) -> str:
    return field.kind if field.kind != FIXED else _PLAIN.get(type(field.default), "any")


def _cast(field: SignatureField) -> Any:
    """What two recordings must have alike of a tensor: dtype and rank, or all that it may be."""
    return field.dtype, None if field.shape is None else len(field.shape), field.type


def schema_of(program: Program) -> dict[str, Any]:
    """The JSON schema: what ways have otherwise may be as in any of them."""
    programs = [program, *(way.program for way in ways_of(program))]
    schema, *others = [json_schema(each.name, each.parameters, each.graph) for each in programs]
    inputs = schema["properties"]["inputs"]["properties"]
    for name, own in inputs.items():
        given = {key: value for key, value in own.items() if key != "default"}
        beside = (each["properties"]["inputs"]["properties"][name] for each in others)
        merged_schema = _any_of([given, *({k: v for k, v in each.items() if k != "default"} for each in beside)])
        inputs[name] = merged_schema | ({"default": own["default"]} if "default" in own else {})
    schema["properties"]["outputs"] = _any_of([each["properties"]["outputs"] for each in (schema, *others)])
    return schema


def _any_of(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    different = [each for place, each in enumerate(schemas) if each not in schemas[:place]]
    return different[0] if len(different) == 1 else {"anyOf": different}
