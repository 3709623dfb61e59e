"""The datatypes of the protocol, and tensors as its bytes: little-endian, in C order, each text behind its length.

A tensor of the protocol is a torch tensor, or a flat list of texts (BYTES). Nothing here copies more than it must: a
tensor that arrives as bytes lies in memory of its own, because neither bytes nor the middle of a body are memory that
kernels may rely on.
"""

from __future__ import annotations

import contextlib
import struct
import sys
from math import isfinite, prod
from typing import Any

import numpy as np
import torch

from .rejections import BAD_REQUEST, RejectedError

BYTES = "BYTES"
MOST_SIZES = 64  # of a shape; torch computes with no more
DATATYPES = {
    "bool": "BOOL",
    "uint8": "UINT8",
    "uint16": "UINT16",
    "uint32": "UINT32",
    "uint64": "UINT64",
    "int8": "INT8",
    "int16": "INT16",
    "int32": "INT32",
    "int64": "INT64",
    "float16": "FP16",
    "bfloat16": "BF16",
    "float32": "FP32",
    "float64": "FP64",
}  # torch's name -> that of the protocol
_NARROW = ("FP16", "BF16", "FP32")  # than the numbers of JSON
_FLOATS = (*_NARROW, "FP64")
DTYPES: dict[str, torch.dtype] = {name: getattr(torch, dtype) for dtype, name in DATATYPES.items()}
_KINDS = {dtype: name for name, dtype in DTYPES.items()}

if sys.byteorder != "little":  # the protocol is little-endian, and no supported platform is anything else
    raise ImportError("tracepack.serving needs a little-endian machine")


def datatype(tensor: torch.Tensor, name: str) -> str:
    """The datatype of a tensor.

    Raises:
        RejectedError: the protocol has none: complex numbers, float8.
    """
    found = _KINDS.get(tensor.dtype)
    if found is None:
        raise RejectedError(
            BAD_REQUEST, "the protocol has no such datatype", where=f"output {name!r}", got=tensor.dtype
        )
    return found


def known(kind: Any, name: str) -> str:
    """A datatype that a request names.

    Raises:
        RejectedError: there is none of this name.
    """
    if kind != BYTES and (not isinstance(kind, str) or kind not in DTYPES):
        raise RejectedError(
            BAD_REQUEST, "unknown datatype", where=f"input {name!r}", got=repr(kind)[:40],
            expected=f"one of {', '.join([*DTYPES, BYTES])}",
        )  # fmt: skip
    return str(kind)


def checked_shape(shape: Any, name: str) -> tuple[int, ...]:
    """The shape that a request gives for an input.

    Raises:
        RejectedError: it is no list of sizes.
    """
    listed = isinstance(shape, list | tuple) and len(shape) <= MOST_SIZES
    if not listed or not all(type(size) is int and 0 <= size < 1 << 62 for size in shape):
        raise RejectedError(
            BAD_REQUEST, "no shape", where=f"input {name!r}", got=repr(shape)[:80],
            expected=f"a list of at most {MOST_SIZES} sizes",
        )  # fmt: skip
    return tuple(shape)


def from_bytes(data: Any, kind: str, shape: tuple[int, ...], name: str) -> Any:
    r"""A tensor from its bytes, in memory of its own; texts for BYTES.

    Raises:
        RejectedError: the bytes do not fit datatype and shape.

    Example:
        >>> from_bytes(b"\x01\x00\x02\x00", "INT16", (2,), "x")
        tensor([1, 2], dtype=torch.int16)
        >>> from_bytes(b"\x02\x00\x00\x00hi", "BYTES", (1,), "x")
        ['hi']
    """
    if kind == BYTES:
        return _texts(data, shape, name)
    dtype, wanted = DTYPES[kind], prod(shape) * DTYPES[kind].itemsize
    if len(data) != wanted:
        raise RejectedError(
            BAD_REQUEST, "another number of bytes", where=f"input {name!r}", got=len(data),
            expected=f"{wanted} for {kind} {list(shape)}",
        )  # fmt: skip
    if not wanted:
        return torch.empty(shape, dtype=dtype)
    made = torch.frombuffer(bytearray(data), dtype=dtype).reshape(shape)
    return made.view(torch.uint8).ne(0) if kind == "BOOL" else made  # a bool of any other byte is undefined behaviour


def _texts(data: Any, shape: tuple[int, ...], name: str) -> list[str]:
    found, place, data = [], 0, bytes(data)
    while place < len(data):
        if place + 4 > len(data):
            break
        (length,) = struct.unpack_from("<I", data, place)
        if place + 4 + length > len(data):
            break
        found.append(text(data[place + 4 : place + 4 + length], name))
        place += 4 + length
    if place != len(data):
        raise RejectedError(BAD_REQUEST, "BYTES end within an element", where=f"input {name!r}")
    return _counted(found, shape, name)


def text(data: bytes, name: str) -> str:
    """A text from an element of BYTES.

    Raises:
        RejectedError: it is no UTF-8.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise RejectedError(BAD_REQUEST, "no UTF-8 text", where=f"input {name!r}", got=str(error)[:80]) from None


def _counted(found: list[Any], shape: tuple[int, ...], name: str) -> list[Any]:
    if len(found) != prod(shape):
        raise RejectedError(
            BAD_REQUEST, "another number of elements", where=f"input {name!r}", got=len(found),
            expected=f"{prod(shape)} for shape {list(shape)}",
        )  # fmt: skip
    return found


def from_json(data: Any, kind: str, shape: tuple[int, ...], name: str) -> Any:
    """A tensor from JSON: nested lists or one flat list in C order; texts for BYTES.

    Raises:
        RejectedError: the values are no such numbers, out of the range of the datatype, or another number of them.

    Example:
        >>> from_json([1, 2, 3, 4], "FP32", (2, 2), "x")
        tensor([[1., 2.],
                [3., 4.]])
    """
    if kind == BYTES:
        return _counted(_flat_texts(data, name), shape, name)
    try:
        array = _array(data, kind)
    except ValueError:
        raise RejectedError(BAD_REQUEST, "lists of different lengths", where=f"input {name!r}") from None
    if array.size == 0:
        array = array.astype(bool if kind == "BOOL" else np.int64)
    if array.size != prod(shape):
        raise RejectedError(
            BAD_REQUEST, "another number of elements", where=f"input {name!r}", got=array.size,
            expected=f"{prod(shape)} for shape {list(shape)}",
        )  # fmt: skip
    wanted = {"B": "b", "I": "iu", "U": "iu"}.get(kind[0], "iuf") if kind != "BF16" else "iuf"
    if array.dtype.kind not in wanted or not _in_range(array, DTYPES[kind]):
        raise RejectedError(BAD_REQUEST, f"not of the datatype {kind}", where=f"input {name!r}", got=_first(data))
    if array.dtype == np.uint64 and kind != "UINT64":
        array = array.astype(np.float64)  # numbers beyond int64, for a datatype of floats
    read = torch.from_numpy(np.ascontiguousarray(array)).reshape(shape)
    made = read.to(DTYPES[kind])
    # A sum is one kernel: where it is finite, so is every number.
    if kind in _NARROW and not isfinite(made.sum().item()) and bool((made.isinf() & ~read.isinf()).any()):
        raise RejectedError(
            BAD_REQUEST, f"not of the datatype {kind}", where=f"input {name!r}",
            got=float(read.double().abs().nan_to_num(0, 0).max()), expected=f"at most {torch.finfo(made.dtype).max:g}",
        )  # fmt: skip
    return made


def _array(data: Any, kind: str) -> np.ndarray[Any, Any]:
    """Nested lists as an array; numpy makes floats of integers of which only some fit int64.

    Integers beyond 64 bits are floats for a datatype of them: JavaScript writes 1e20 with all of its digits.
    """
    array = np.asarray(data)
    if kind in _FLOATS and array.dtype.kind == "O" and all(type(item) in (int, float) for item in array.flat):
        with contextlib.suppress(OverflowError):
            return array.astype(np.float64)
    if kind == "UINT64" and array.dtype.kind in "fO":
        whole = np.array(data, dtype=object)
        if all(type(item) is int and 0 <= item < 1 << 64 for item in whole.flat):
            return whole.astype(np.uint64)
    return array


def _in_range(array: np.ndarray[Any, Any], dtype: torch.dtype) -> bool:
    if not array.size or dtype.is_floating_point or dtype is torch.bool:
        return True
    limits = torch.iinfo(dtype)
    return int(array.min()) >= limits.min and int(array.max()) <= limits.max


def _first(data: Any) -> str:
    """The first value of nested lists, for a message."""
    while isinstance(data, list) and data:
        data = data[0]
    return repr(data)[:40]


def _flat_texts(data: Any, name: str) -> list[str]:
    """The texts of nested lists, which may be nested as deep as JSON can be."""
    found: list[str] = []
    left = [data]
    while left:
        item = left.pop()
        if isinstance(item, list):
            left.extend(reversed(item))
        elif isinstance(item, str):
            found.append(item)
        else:
            raise RejectedError(BAD_REQUEST, "no text", where=f"input {name!r}", got=repr(item)[:40])
    return found


def to_bytes(value: Any) -> Any:
    r"""A tensor or texts as bytes, or as a view of the tensor's memory.

    Example:
        >>> bytes(to_bytes(torch.tensor([1, 2], dtype=torch.int16))), to_bytes(["hi"])
        (b'\x01\x00\x02\x00', b'\x02\x00\x00\x00hi')
    """
    if isinstance(value, torch.Tensor):
        numbers = value.resolve_neg()
        numbers = numbers.view(torch.int16) if numbers.dtype is torch.bfloat16 else numbers  # numpy has no bfloat16
        return np.ascontiguousarray(numbers.numpy()).data.cast("B") if value.numel() else b""
    parts = [item.encode() for item in value]
    return b"".join(piece for part in parts for piece in (struct.pack("<I", len(part)), part))


def to_json(value: Any) -> list[Any]:
    """A tensor as one flat list, in C order; texts as they are."""
    return value.reshape(-1).tolist() if isinstance(value, torch.Tensor) else list(value)
