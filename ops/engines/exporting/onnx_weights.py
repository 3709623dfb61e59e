"""Puts weights back into an ONNX model that was stored without them.

A protobuf message that is followed by another one of its kind means both together. So a model is completed by bytes
that are appended to it, without a parser: a tensor that says "my data come from outside", for a runtime that is handed
the memory, or one with its data.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from ...graph.sharing.flat_items import flat_items

MODEL = "model.onnx"
WITHIN = "within"  # the output that says whether all indices are

_TYPES = {
    "float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float16": 10,
    "float64": 11, "uint32": 12, "uint64": 13, "bfloat16": 16,
}  # fmt: skip
"""torch's names of dtypes -> their numbers in TensorProto."""

NUMPY_TYPES = frozenset(_TYPES) - {"bfloat16"}
"""The names of those that numpy has."""

_MODEL_GRAPH, _GRAPH_INITIALIZER = 7, 5
_DIMS, _DATA_TYPE, _NAME, _RAW_DATA, _EXTERNAL_DATA, _DATA_LOCATION = 1, 2, 8, 9, 13, 14
_EXTERNAL = 1
_SMALL = [bytes([value]) for value in range(0x80)]
_IN_MEMORY = "*/_ORT_MEM_ADDR_/*"  # the location of what lies in memory, at the offset as its address


def declared(weights: Mapping[str, torch.Tensor]) -> bytes:
    """Bytes that declare weights whose memory a runtime is handed apart from the model."""
    return b"".join(
        _initializer(name, tensor, _outside("tracepack", 0, tensor.nbytes)) for name, tensor in weights.items()
    )


def addressed(weights: Mapping[str, torch.Tensor]) -> bytes:
    """Bytes that say where in this process's memory contiguous weights lie, which ONNX Runtime and OpenVINO understand.

    Only for a model that holds no such address itself: see `refuse_external_data`.
    """
    return b"".join(
        _initializer(name, tensor, _outside(_IN_MEMORY, tensor.data_ptr(), tensor.nbytes))
        for name, tensor in weights.items()
    )


def embedded(weights: Mapping[str, torch.Tensor]) -> bytes:
    """Bytes that hold weights with their data, for a runtime that takes none from outside: a copy in memory."""
    return b"".join(_initializer(name, tensor, _field(_RAW_DATA, _raw(tensor))) for name, tensor in weights.items())


def _initializer(name: str, tensor: torch.Tensor, data: bytes) -> bytes:
    dims = b"".join(_number(_DIMS, size) for size in tensor.shape)
    kind = _number(_DATA_TYPE, _TYPES[str(tensor.dtype).removeprefix("torch.")])
    return _field(_MODEL_GRAPH, _field(_GRAPH_INITIALIZER, dims + kind + _field(_NAME, name.encode()) + data))


def _outside(location: str, offset: int, length: int) -> bytes:
    entries = {"location": location, "offset": str(offset), "length": str(length)}
    texts = (_field(1, key.encode()) + _field(2, text.encode()) for key, text in entries.items())
    return b"".join(_field(_EXTERNAL_DATA, each) for each in texts) + _number(_DATA_LOCATION, _EXTERNAL)


def _raw(tensor: torch.Tensor) -> bytes:
    return bytes(flat_items(tensor).view(torch.uint8).numpy())


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _varint(value: int) -> bytes:
    if value <= 0x7F:  # most are
        return _SMALL[value]
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])
