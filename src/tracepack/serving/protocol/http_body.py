"""Requests and responses as the body of HTTP: JSON, with the binary tensor extension in both directions.

With the extension the header ``Inference-Header-Content-Length`` says where the JSON ends; the bytes of the tensors
that have the parameter ``binary_data_size`` follow it, in their order.
"""

from __future__ import annotations

import json
import math
import re
import secrets
from collections.abc import Callable, Mapping
from typing import Any

from .datatypes import checked_shape, from_bytes, from_json, known, to_bytes, to_json
from .messages import InferRequest, InferResponse, NamedTensor, by_name, refuse_extensions
from .rejections import BAD_REQUEST, RejectedError

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # an escape that may be half of a character
BINARY_HEADER = "Inference-Header-Content-Length"
Body = bytes | bytearray


def _find_fast_decode() -> Callable[[Any], Any] | None:
    """What reads JSON fast: msgspec's, where it is installed."""
    try:
        from msgspec.json import decode
    except ImportError:
        return None
    found: Callable[[Any], Any] = decode
    return found


_fast_decode = _find_fast_decode()


def parse_json(body: Body | memoryview) -> Any:
    """A document of JSON, as the standard library reads it.

    msgspec reads numbers ten times as fast: what it takes it takes for the same, and what it refuses, NaN and 1e999
    among others, the standard library judges.

    Raises:
        RejectedError: it is none.
    """
    if _fast_decode is not None:
        try:
            return _fast_decode(body)
        except (ValueError, RecursionError):
            pass
    try:
        text = bytes(body).decode("utf-8-sig")
        document = json.loads(text)
        if _SURROGATE.search(text):
            json.dumps(document, ensure_ascii=False).encode()  # fails for half of a pair, which is no text
    except (ValueError, RecursionError) as error:
        raise RejectedError(BAD_REQUEST, "the body is no JSON", got=str(error)[:120]) from None
    return document


def parse_request(body: Body, header_length: str | None) -> InferRequest:
    """A request from the body of HTTP.

    Args:
        body: the whole body.
        header_length: of the JSON at its start, where tensors follow as bytes: the header of this name.

    Raises:
        RejectedError: the body is malformed; the error names the input.
    """
    end = _header_end(header_length, len(body))
    document = parse_json(memoryview(body)[:end])
    if not isinstance(document, dict):
        raise _malformed("the body", document, "an object")
    rows, tail = _rows(document, "inputs"), _Tail(memoryview(body)[end:])
    if document.get("inputs") is None:
        raise RejectedError(BAD_REQUEST, "the request has no inputs", expected='{"inputs": [...]}')
    inputs = by_name([_input(row, tail) for row in rows])
    if tail.left():
        raise RejectedError(BAD_REQUEST, "bytes follow that belong to no input", got=tail.left())
    parameters = _parameters(document)
    binary = parameters.get("binary_data_output") is True
    outputs = {}
    for row in _rows(document, "outputs"):
        name, asked = _name(row, "output"), _parameters(row)
        refuse_extensions(asked, f"output {name!r}")
        outputs[name] = asked.get("binary_data", binary) is True
    return InferRequest(inputs, outputs, _id(document.get("id")), parameters)


class _Tail:
    """The bytes behind the JSON, taken from the front."""

    def __init__(self, data: memoryview) -> None:
        self._data, self._place = data, 0

    def take(self, size: Any, name: str) -> memoryview:
        if type(size) is not int or not 0 <= size <= self.left():
            raise RejectedError(
                BAD_REQUEST, "binary_data_size is wrong", where=f"input {name!r}", got=repr(size)[:40],
                expected=f"at most the {self.left()} bytes that are left",
            )  # fmt: skip
        self._place += size
        return self._data[self._place - size : self._place]

    def left(self) -> int:
        return len(self._data) - self._place


def _header_end(header_length: str | None, size: int) -> int:
    if header_length is None:
        return size
    if not (header_length.isascii() and header_length.isdigit() and len(header_length) < 19):
        raise RejectedError(BAD_REQUEST, f"{BINARY_HEADER} is no number", got=repr(header_length)[:40])
    if int(header_length) > size:
        raise RejectedError(BAD_REQUEST, f"{BINARY_HEADER} is larger than the body", got=header_length, expected=size)
    return int(header_length)


def _input(row: Mapping[str, Any], tail: _Tail) -> NamedTensor:
    name = _name(row, "input")
    kind, shape = known(row.get("datatype"), name), checked_shape(row.get("shape"), name)
    parameters = _parameters(row)
    refuse_extensions(parameters, f"input {name!r}")
    size = parameters.get("binary_data_size")
    if size is not None:
        return NamedTensor(name, kind, shape, from_bytes(tail.take(size, name), kind, shape, name))
    if "data" not in row:
        raise RejectedError(BAD_REQUEST, "an input without data", where=f"input {name!r}")
    return NamedTensor(name, kind, shape, from_json(row["data"], kind, shape, name))


def _rows(document: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    rows = document.get(key)
    rows = [] if rows is None else rows
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise _malformed(repr(key), rows, "a list of objects")
    return rows


def _name(row: Mapping[str, Any], what: str) -> str:
    name = row.get("name")
    if not isinstance(name, str):
        raise _malformed(f"the name of an {what}", name, "a string")
    return name


def _parameters(row: Mapping[str, Any]) -> dict[str, Any]:
    found = row.get("parameters")
    found = {} if found is None else found  # many libraries write null for what is not there
    if not isinstance(found, dict):
        raise _malformed("'parameters'", found, "an object")
    return found


def _id(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str | int) or value is True or value is False:
        raise _malformed("'id'", value, "a string")
    return str(value)


def _malformed(what: str, got: Any, expected: str) -> RejectedError:
    return RejectedError(BAD_REQUEST, f"{what} is malformed", got=repr(got)[:80], expected=expected)


def render_response(response: InferResponse, request: InferRequest) -> tuple[dict[str, str], bytes]:
    """The headers and the body of a response; outputs are bytes where the request asks for it, else JSON."""
    everything = request.parameters.get("binary_data_output") is True
    rows: list[dict[str, Any]] = []
    tail: list[Any] = []
    for output in response.outputs:
        row: dict[str, Any] = {"name": output.name, "datatype": output.datatype, "shape": list(output.shape)}
        if request.outputs.get(output.name, everything):
            data = to_bytes(output.value)
            row["parameters"] = {"binary_data_size": len(data)}
            tail.append(data)
        else:
            row["data"] = to_json(output.value)
        rows.append(row)
    document: dict[str, Any] = {"model_name": response.model, "model_version": response.version}
    if response.id:
        document["id"] = response.id
    if response.parameters:
        document["parameters"] = dict(response.parameters)
    header = dumps({**document, "outputs": rows})
    if not tail:
        return {"content-type": "application/json"}, header
    length = str(len(header))
    return {"content-type": "application/octet-stream", BINARY_HEADER: length}, b"".join([header, *tail])


def dumps(document: Any) -> bytes:
    """JSON as bytes; a NaN is null, and an infinity 1e999, which readers of JSON take for it.

    Example:
        >>> dumps({"x": [1.0, float("nan"), float("-inf")]})
        b'{"x":[1.0,null,-1e999]}'
    """
    try:
        return _encoded(document)
    except ValueError:  # not finite
        return (
            _encoded(_finite(document))
            .replace(f'"+{_INFINITE}"'.encode(), b"1e999")
            .replace(f'"-{_INFINITE}"'.encode(), b"-1e999")
        )


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_INFINITE = secrets.token_hex(16)  # stands for an infinity until the document is text; no client can know it


def _encoded(document: Any) -> bytes:
    return _ENCODER.encode(document).encode(errors="replace")


def _finite(value: Any) -> Any:
    match value:
        case dict():
            return {key: _finite(item) for key, item in value.items()}
        case list() | tuple():
            return [_finite(item) for item in value]
        case float() if value != value:
            return None
        case float() if math.isinf(value):
            return f"{'+' if value > 0 else '-'}{_INFINITE}"
    return value
