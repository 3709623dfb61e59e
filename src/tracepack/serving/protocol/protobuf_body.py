"""Requests and responses as messages of protobuf; tensors go as raw bytes, and come so or as typed lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .datatypes import BYTES, checked_shape, from_bytes, from_json, known, text, to_bytes
from .messages import NOTHING, InferRequest, InferResponse, NamedTensor, by_name, refuse_extensions
from .protobuf import message
from .rejections import BAD_REQUEST, RejectedError

_CONTENTS = {
    "BOOL": "bool_contents", "INT8": "int_contents", "INT16": "int_contents", "INT32": "int_contents",
    "INT64": "int64_contents", "UINT8": "uint_contents", "UINT16": "uint_contents", "UINT32": "uint_contents",
    "UINT64": "uint64_contents", "FP32": "fp32_contents", "FP64": "fp64_contents", "BYTES": "bytes_contents",
}  # fmt: skip


def parse_message(given: Any) -> InferRequest:
    """A request from its message.

    Raises:
        RejectedError: it is malformed; the error names the input.
    """
    rows, raw = list(given.inputs), given.raw_input_contents
    if raw and len(raw) != len(rows):
        raise RejectedError(
            BAD_REQUEST, "raw_input_contents has another length than inputs", got=len(raw), expected=len(rows)
        )
    inputs = [_input(row, raw[index] if raw else None) for index, row in enumerate(rows)]
    wanted = {}
    for row in given.outputs:
        wanted[row.name] = True
        if row.parameters:
            refuse_extensions(_parameters(row), f"output {row.name!r}")
    return InferRequest(by_name(inputs), wanted, given.id, _parameters(given))


def _input(row: Any, raw: bytes | None) -> NamedTensor:
    name = row.name
    if row.parameters:
        refuse_extensions(_parameters(row), f"input {name!r}")
    kind, shape = known(row.datatype, name), checked_shape(list(row.shape), name)
    if raw is not None:
        return NamedTensor(name, kind, shape, from_bytes(raw, kind, shape, name))
    if kind not in _CONTENTS:
        raise RejectedError(BAD_REQUEST, f"{kind} comes in raw_input_contents only", where=f"input {name!r}")
    items = list(getattr(row.contents, _CONTENTS[kind]))
    if kind == BYTES:
        items = [text(item, name) for item in items]
    return NamedTensor(name, kind, shape, from_json(items, kind, shape, name))


def _parameters(given: Any) -> Mapping[str, Any]:
    found = given.parameters
    return {name: _parameter(value) for name, value in found.items()} if found else NOTHING


def _parameter(value: Any) -> Any:
    chosen = value.WhichOneof("parameter_choice")
    return None if chosen is None else getattr(value, chosen)


def render_message(response: InferResponse) -> Any:
    """The message of a response."""
    made = message("ModelInferResponse")(
        model_name=response.model, model_version=response.version, id=response.id,
        raw_output_contents=[bytes(to_bytes(output.value)) for output in response.outputs],
    )  # fmt: skip
    for output in response.outputs:
        made.outputs.add(name=output.name, datatype=output.datatype, shape=output.shape)
    return made
