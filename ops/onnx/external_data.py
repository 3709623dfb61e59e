"""Refuses ONNX models that name other files.

A tensor of ONNX may lie in a file beside the model, and ONNX Runtime reads that file while it makes a session: that of
an initializer, but also of a sparse one, of an attribute of a node, of a subgraph or a local function. A model in an
archive must not make a program read files of the machine that loads it. So the bytes of the model are read here, before
the runtime sees them, by the wire format of protobuf: no package is needed for it, and a field is judged wherever a
parser could take it from, so that one that is written twice is judged twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..graph.errors import GraphError

_NESTED: dict[str, dict[int, str]] = {
    "ModelProto": {7: "GraphProto", 20: "TrainingInfoProto", 25: "FunctionProto"},
    "GraphProto": {1: "NodeProto", 5: "TensorProto", 15: "SparseTensorProto"},
    "NodeProto": {5: "AttributeProto"},
    "AttributeProto": {
        5: "TensorProto", 6: "GraphProto", 10: "TensorProto", 11: "GraphProto", 22: "SparseTensorProto",
        23: "SparseTensorProto",
    },
    "SparseTensorProto": {1: "TensorProto", 2: "TensorProto"},
    "FunctionProto": {7: "NodeProto", 11: "AttributeProto"},
    "TrainingInfoProto": {1: "GraphProto", 2: "GraphProto"},
    "TensorProto": {},
}  # fmt: skip
"""Message -> its fields, by number, through which a tensor can be reached, and their messages."""

_AS_ONE_FILE = (
    "Write it as one file, below 2 GB: model = onnx.load(path); onnx.save(model, new_path). onnx.load leaves sparse "
    "tensors where they are; read them between the two, with h = onnx.numpy_helper: for s in "
    "model.graph.sparse_initializer: [t.CopyFrom(h.from_array(h.to_array(t, folder), t.name)) for t in (s.values, "
    "s.indices)], where folder is that of the file."
)
_EXTERNAL_DATA, _DATA_LOCATION = 13, 14  # fields of TensorProto
_DEFAULT = 0  # the data_location of a tensor that holds its data
_DEEPEST = 100  # levels of messages: protobuf refuses more
_LAST_ALONE = 0x7F  # the largest integer of one byte, as most are: no call is made for these
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # wire types


def refuse_external_data(model: bytes, where: str) -> None:
    """Checks that no tensor of a model lies in another file.

    Args:
        model: the bytes of a ModelProto.
        where: the op or the file, for messages.

    Raises:
        GraphError: one does; or the bytes are not those of a protobuf message.
    """
    try:
        _refuse(memoryview(model), where)
    except (IndexError, ValueError) as error:
        got = "bytes that end too early" if isinstance(error, IndexError) else str(error)
        raise GraphError("not an ONNX model", where=where, got=got) from None


def _refuse(model: memoryview, where: str) -> None:
    waiting = [("ModelProto", model, 0)]
    while waiting:
        message, data, depth = waiting.pop()
        if depth > _DEEPEST:
            raise ValueError(f"messages that are nested more than {_DEEPEST} deep")
        nested, is_tensor = _NESTED[message], message == "TensorProto"
        for number, value in _fields(data):
            if number in nested and isinstance(value, memoryview):
                waiting.append((nested[number], value, depth + 1))
            elif is_tensor and _is_external(number, value):
                raise GraphError(
                    "the ONNX model takes a tensor from another file, which an archive cannot hold",
                    where=where,
                    fix=_AS_ONE_FILE,
                )


def _is_external(number: int, value: Any) -> bool:
    """Whether a field of a tensor says that its data lie in another file."""
    if number == _DATA_LOCATION:
        return bool(value != _DEFAULT)
    return number == _EXTERNAL_DATA


def _fields(data: memoryview) -> Iterator[tuple[int, Any]]:
    """Each field of a message: its number, and an integer or the bytes of a nested value.

    Raises:
        ValueError, IndexError: the bytes are no message.
    """
    at, end = 0, len(data)
    while at < end:
        tag, at = data[at], at + 1
        if tag > _LAST_ALONE:
            tag, at = _varint(data, at - 1)
        number, kind = tag >> 3, tag & 7
        if not 0 < number < 1 << 29:
            raise ValueError(f"a field with the number {number}")
        if kind == _VARINT:
            value, at = _varint(data, at)
            yield number, value
        elif kind == _BYTES:
            size, at = data[at], at + 1
            if size > _LAST_ALONE:
                size, at = _varint(data, at - 1)
            if size > end - at:
                raise ValueError("a field that is longer than its message")
            yield number, data[at : at + size]
            at += size
        elif kind in (_FIXED64, _FIXED32):
            at += 8 if kind == _FIXED64 else 4
            if at > end:
                raise ValueError("a field that is longer than its message")
        else:  # groups, which ONNX does not have
            raise ValueError(f"a field of wire type {kind}")


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    """An integer of up to ten bytes, and the place after it."""
    result = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        at += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, at
    raise ValueError("an integer of more than ten bytes")
