"""Interface: a pipeline's signature in the terms of the protocol, in both directions.

Inputs and outputs in containers are tensors of their own, by their plain name: ``batch.ids.0``. A pipeline's single
output is ``out``, those of a dict have its keys. Lists and whatever else has no tensor travel as one element of BYTES
that holds JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from ...ops.graph.program import Slot
from ...pipeline.pipeline import Pipeline
from ...pipeline.running.binding import as_tensor
from ...pipeline.signature.feeds import build_feed, plain_name
from ...pipeline.signature.fields import FIXED, SignatureField
from .datatypes import BYTES, DATATYPES, datatype
from .messages import InferRequest, NamedTensor
from .rejections import BAD_REQUEST, INTERNAL, UNPROCESSABLE, RejectedError

_SCALARS = {"int": "INT64", "float": "FP64", "bool": "BOOL", "str": BYTES, "strings": BYTES}
_DTYPES = {int: torch.int64, float: torch.float64, bool: torch.bool}
MOST_BYTES = (1 << 31) - 1
"""Of an output tensor, as of a message of gRPC: a view can show petabytes of one element, and is written out whole."""
_LONGEST_INTEGER = 14_000  # bits; Python writes integers of at most 4300 digits


class Interface:
    """The inputs and outputs of a pipeline as the protocol has them.

    Args:
        pipeline: that is served.
        name: under which it is served, for messages.

    Raises:
        RejectedError: an input is a tensor of complex numbers or float8, for which the protocol has no datatype.
    """

    def __init__(self, pipeline: Pipeline, name: str) -> None:
        self.model, self._parameters = name, pipeline.program.parameters
        self.inputs = {plain_name(field.name): field for field in pipeline.inputs if field.kind != FIXED}
        self.outputs = {output_name(field): field for field in pipeline.outputs}
        for input_name, field in self.inputs.items():
            if field.kind == "complex" or (field.kind == "tensor" and field.dtype not in DATATYPES):
                raise RejectedError(
                    INTERNAL, "the protocol has no such datatype", where=f"model {name!r}, input {input_name!r}",
                    got=field.dtype or field.kind,
                )  # fmt: skip
        # Most pipelines take tensors only, each a parameter of its own: their feeds need no look at containers.
        items = self._parameters.items
        self._flat = all(isinstance(item.tree, Slot) for item in items) and all(
            field.kind in ("tensor", "strings") for field in self.inputs.values()
        )
        self._required = frozenset(name for name, field in self.inputs.items() if field.required)

    def described(self) -> dict[str, list[dict[str, Any]]]:
        """The ``inputs`` and ``outputs`` of the model's metadata; a free size is -1."""
        inputs = [_described(name, field) for name, field in self.inputs.items()]
        outputs = [_described(name, field) for name, field in self.outputs.items() if not _is_silent(field)]
        return {"inputs": inputs, "outputs": outputs}

    def check(self, request: InferRequest) -> None:
        """Checks the names of a request, and that texts come where texts are wanted.

        Raises:
            RejectedError: naming the input or the output.
        """
        given, inputs = request.inputs, self.inputs
        for name in given:
            if name not in inputs:
                raise self._wrong("unknown input", f"input {name!r}", expected=", ".join(inputs) or "no inputs")
        for name in self._required:
            if name not in given:
                raise self._wrong("missing input", f"input {name!r}", expected=_written(inputs[name]))
        for name, tensor in given.items():
            if (tensor.datatype == BYTES) != (_datatype(inputs[name]) == BYTES):
                raise self._wrong(
                    "another datatype", f"input {name!r}", got=tensor.datatype, expected=_datatype(inputs[name])
                )
        for name in request.outputs:
            if name not in self.outputs:
                raise self._wrong("unknown output", f"output {name!r}", expected=", ".join(self.outputs))

    def _wrong(self, what: str, where: str, got: Any = None, expected: Any = None) -> RejectedError:
        return RejectedError(BAD_REQUEST, what, where=f"model {self.model!r}, {where}", got=got, expected=expected)

    def feed(self, request: InferRequest) -> dict[str, Any]:
        """The feed for a run.

        Raises:
            RejectedError: a name is unknown or missing; SignatureError: a value cannot become what the input is.
        """
        self.check(request)
        if self._flat and len(request.inputs) == len(self.inputs):
            return {name: tensor.value for name, tensor in request.inputs.items()}
        given = {name: self._plain(self.inputs[name], tensor) for name, tensor in request.inputs.items()}
        return build_feed(self._parameters, given)

    def _plain(self, field: SignatureField, tensor: NamedTensor) -> Any:
        """The value of an input that is no plain tensor."""
        if field.kind in ("tensor", "strings"):
            return tensor.value
        value = tensor.value
        if len(value.reshape(-1) if isinstance(value, torch.Tensor) else value) != 1:
            raise self._wrong(
                "not one element", f"input {tensor.name!r}", got=f"shape {list(tensor.shape)}", expected="[1]"
            )
        if isinstance(value, torch.Tensor):
            return value.item()
        if field.kind == "str":
            return value[0]
        try:
            return json.loads(value[0])
        except (ValueError, RecursionError):
            raise self._wrong("the element is no JSON", f"input {tensor.name!r}", expected=field.kind) from None

    def outputs_of(self, result: Any, wanted: Mapping[str, bool]) -> tuple[NamedTensor, ...]:
        """The outputs of a run: those wanted in their order, or all of them.

        Raises:
            RejectedError: one has no datatype in the protocol.
        """
        names = wanted or [name for name, field in self.outputs.items() if not _is_silent(field)]
        return tuple(named_output(name, _declared(self.outputs[name], result)) for name in names)


def output_name(field: SignatureField) -> str:
    """The plain name of an output: ``out``, or the keys and positions on the way to it.

    Example:
        >>> output_name(SignatureField("out['a'][0]", ("a", 0), "tensor"))
        'a.0'
    """
    path = field.path if field.path and isinstance(field.path[0], str) else ("out", *field.path)
    return ".".join(map(str, path))


def named_output(name: str, value: Any) -> NamedTensor:
    """An output as the protocol has it; what is no tensor, number or text is JSON in one element of BYTES.

    Raises:
        RejectedError: a tensor of complex numbers, or what cannot be sent.
    """
    if isinstance(value, np.ndarray | np.generic):
        value = as_tensor(value)
    if isinstance(value, torch.Tensor):
        found = _sendable(value.detach() if value.requires_grad else value)
        found = found if found.is_cpu else found.cpu()
        return NamedTensor(name, datatype(found, name), tuple(found.shape), found)
    if isinstance(value, str):
        return NamedTensor(name, BYTES, (1,), [_encodable(value)])
    if type(value) in _DTYPES and (type(value) is not int or -(1 << 63) <= value < 1 << 63):
        tensor = torch.tensor([value], dtype=_DTYPES[type(value)])
        return NamedTensor(name, datatype(tensor, name), (1,), tensor)
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return NamedTensor(name, BYTES, (len(value),), list(map(_encodable, value)))
    return NamedTensor(name, BYTES, (1,), [json.dumps(plain(value), ensure_ascii=False)])


def plain(value: Any) -> Any:
    """A result as plain data for JSON, in its own structure: a tensor as nested lists, a complex number as a pair.

    Raises:
        RejectedError: a part of it cannot be sent.
    """
    match value:
        case torch.Tensor():
            dense = _sendable(value)
            return (torch.view_as_real(dense.resolve_conj()) if dense.is_complex() else dense).tolist()
        case np.ndarray() | np.generic():
            return plain(as_tensor(value))
        case complex():
            return [value.real, value.imag]
        case Mapping():
            return {str(plain(key)): plain(item) for key, item in value.items()}
        case _ if hasattr(value, "_asdict"):
            return plain(value._asdict())
        case list() | tuple():
            return [plain(item) for item in value]
        case str():
            return _encodable(value)
        case int() if value.bit_length() > _LONGEST_INTEGER:
            raise RejectedError(UNPROCESSABLE, "an integer is too long to be sent", got=f"{value.bit_length()} bits")
        case None | bool() | int() | float():
            return value
    return str(value).removeprefix("torch.")


def _sendable(tensor: torch.Tensor) -> torch.Tensor:
    size = tensor.numel() * tensor.element_size()
    if size > MOST_BYTES:
        raise RejectedError(
            UNPROCESSABLE, "an output is too large to be sent", got=f"{size} bytes, shape {list(tensor.shape)}",
            expected=f"at most {MOST_BYTES} bytes",
        )  # fmt: skip
    return tensor


def _encodable(text: str) -> str:
    try:
        text.isascii() or text.encode()
    except UnicodeEncodeError:
        raise RejectedError(
            UNPROCESSABLE, "a text that no encoding has", got=repr(text)[:80], expected="no lone surrogates"
        ) from None
    return text


def _at(result: Any, path: Sequence[str | int]) -> Any:
    for key in path:
        # The fields of a named tuple have names, and its items positions.
        named = isinstance(key, str) and isinstance(result, tuple)
        result = getattr(result, str(key)) if named else result[key]
    return result


def _declared(field: SignatureField, result: Any) -> Any:
    """An output; an int where a float is declared, such as the sum of no numbers, is that float, if there is one."""
    value = _at(result, field.path)
    return float(value) if field.kind == "float" and type(value) is int and abs(value) <= 1 << 53 else value


def _is_silent(field: SignatureField) -> bool:
    """Whether an output says nothing: a None that the function always returns."""
    return field.kind == FIXED and field.default is None


def _datatype(field: SignatureField) -> str:
    if field.kind == "tensor" and field.dtype is not None:
        return DATATYPES.get(field.dtype, "")
    if field.kind == FIXED:
        return {bool: "BOOL", int: "INT64", float: "FP64"}.get(type(field.default), BYTES)
    return _SCALARS.get(field.kind, BYTES)


def _described(name: str, field: SignatureField) -> dict[str, Any]:
    if field.kind == "tensor" and field.shape is not None:
        shape = [size if isinstance(size, int) else -1 for size in field.shape]
    else:
        shape = [-1] if field.kind in ("strings", "array", "tensor") else [1]
    return {"name": name, "datatype": _datatype(field), "shape": shape}


def _written(field: SignatureField) -> str:
    described = _described("", field)
    return f"{described['datatype']} {described['shape']}"
