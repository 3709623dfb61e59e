"""Tensors in the format of safetensors, inside the archive: written in chunks, read by mapping.

The format allows no holes, and torch computes fastest (and with the same bits) on 64-byte-aligned memory. So filler
tensors named ``"~0"``, ``"~1"`` … align the others. Tensors that are equal bit for bit, or share memory, are stored
once.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
import weakref
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch

from ..ops.graph.errors import ArchiveError
from ..ops.graph.graph import Constant
from ..ops.graph.sharing.flat_items import flat_items
from ..ops.graph.sharing.tensor_places import place
from ..ops.graph.types import DTYPES
from .container.archive import Archive
from .container.schema import ALIGNMENT, WEIGHTS
from .limits import is_shape

if TYPE_CHECKING:
    from .container.archive_writer import Member

# torch's dtypes -> those of safetensors; the others are stored as bytes, and the manifest has their dtype.
_NAMES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32",
    "int16": "I16", "int8": "I8", "uint8": "U8", "bool": "BOOL", "uint16": "U16", "uint32": "U32", "uint64": "U64",
    "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2",
}  # fmt: skip
# The dtypes that a file may name; with others torch can end the process.
_DTYPES: dict[str, torch.dtype] = {name: getattr(torch, name) for name in DTYPES if hasattr(torch, name)}
_WIDEST = 16  # bytes of the widest element, to which every dtype may be aligned
_HASHED_FROM = 256  # bytes; smaller tensors are compared by their content, others by a hash


class TensorTable:
    """Collects tensors for one member; equal content is stored once.

    Attributes:
        rows: the row of the manifest for each tensor that was added.
    """

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self._stored: list[torch.Tensor] = []
        self._by_memory: dict[Any, str] = {}
        self._by_content: dict[Any, str] = {}
        self._origins: dict[Any, int] = {}
        self._alive: list[torch.Tensor] = []  # keeps the addresses in _by_memory from being reused

    def add(self, name: str, tensor: torch.Tensor, constant: Constant | None = None) -> int:
        """Adds a tensor, perhaps that of a constant, and returns the number of its row."""
        tensor = tensor.detach().resolve_conj().resolve_neg()
        self._alive.append(tensor)
        dense, strides = _dense(tensor)
        self.rows.append(
            {
                "name": name,
                "tensor": self._store(tensor, dense),
                "dtype": str(tensor.dtype).removeprefix("torch."),
                "shape": list(tensor.shape),
                "strides": strides,
                "mutable": constant is not None and constant.mutable,
                "parameter": constant is not None and constant.parameter,
                "origin": self._origins.setdefault((place(tensor), constant and constant.origin), len(self.rows)),
            }
        )
        return len(self.rows) - 1

    def _store(self, tensor: torch.Tensor, dense: torch.Tensor) -> str:
        memory = place(tensor)
        if tensor.numel() and memory in self._by_memory:
            return self._by_memory[memory]
        dense = dense.cpu()
        content = (tensor.dtype, tuple(dense.shape), _content(dense))
        key = self._by_content.setdefault(content, f"t{len(self._stored)}")
        if key == f"t{len(self._stored)}":
            self._stored.append(dense)
        self._by_memory[memory] = key
        return key

    def member(self, name: str) -> Member:
        """The member that holds the tensors."""
        from .container.archive_writer import Member  # which loading does not need

        header, parts = self._layout()
        size = len(header) + sum(len(part) for part in parts)
        return Member(name, size, lambda: iter([header, *parts]))

    def _layout(self) -> tuple[bytes, list[Any]]:
        entries: dict[str, Any] = {}
        parts: list[Any] = []
        at = 0
        for index, tensor in enumerate(self._stored):
            fill = -at % ALIGNMENT
            if fill:
                entries[f"~{index}"] = {"dtype": "U8", "shape": [fill], "data_offsets": [at, at + fill]}
                parts.append(bytes(fill))
                at += fill
            data = _bytes(tensor)
            known = _NAMES.get(str(tensor.dtype).removeprefix("torch."))
            shape = list(tensor.shape) if known else [len(data)]
            entries[f"t{index}"] = {"dtype": known or "U8", "shape": shape, "data_offsets": [at, at + len(data)]}
            parts.append(data)
            at += len(data)
        text = json.dumps(entries, separators=(",", ":")).encode()
        text += b" " * (-(8 + len(text)) % ALIGNMENT)
        return struct.pack("<Q", len(text)) + text, parts


def _dense(tensor: torch.Tensor) -> tuple[torch.Tensor, list[int] | None]:
    """The tensor in the order of its memory, and its strides where they are not those of a contiguous tensor."""
    if tensor.is_contiguous():
        return tensor.contiguous(), None
    sizes, steps = tuple(tensor.shape), tensor.stride()
    order = sorted(range(tensor.dim()), key=lambda d: (-steps[d], -sizes[d]))
    ordered = tensor.permute(order)
    if not ordered.is_contiguous():  # its memory overlaps or has gaps, so it is stored contiguous
        return tensor.contiguous(), None
    return ordered, list(tensor.stride())


def _bytes(tensor: torch.Tensor) -> memoryview:
    if tensor.numel() == 0:
        return memoryview(b"")
    array: Any = flat_items(tensor).view(torch.uint8).numpy()
    return memoryview(array).cast("B")


def _content(tensor: torch.Tensor) -> bytes:
    data = _bytes(tensor)
    return bytes(data) if len(data) < _HASHED_FROM else hashlib.sha256(data).digest()


# -- reading ---------------------------------------------------------------------------------------------------

_LIVE: weakref.WeakValueDictionary[Any, MappedTensors] = weakref.WeakValueDictionary()


class MappedTensors:
    """The tensors of one member of an open archive, each made over its memory at the first use."""

    def __init__(self, archive: Archive, member: str) -> None:
        self.archive, self.member = archive, member
        view = archive.view(member)
        self._entries, self._start = _header(archive, member, view)
        self._tensors: dict[Any, torch.Tensor] = {}
        self._bytes: dict[str, torch.Tensor] = {}

    def tensor(self, row: dict[str, Any], where: str) -> torch.Tensor:
        """The tensor of a manifest row; rows about the same content share it.

        Raises:
            ArchiveError: the row does not fit the member.
        """
        get = row.get
        key = str(get("tensor")), str(get("dtype")), str(get("shape")), str(get("strides"))
        if key not in self._tensors:
            self._tensors[key] = self._make(row, where)
        return self._tensors[key]

    def _make(self, row: dict[str, Any], where: str) -> torch.Tensor:
        match row:
            case {"tensor": str(name), "dtype": str(dtype), "shape": list(shape)} if name in self._entries:
                pass
            case _:
                raise self.archive.error(f"{where} names a tensor that the member does not hold", member=self.member)
        kind = _DTYPES.get(dtype)
        begin, end = self._entries[name]
        if kind is None or not is_shape(shape):
            got = f"{dtype} {shape[:9]}"[:80]
            raise self.archive.error(f"{where} has an impossible dtype or shape", member=self.member, got=got)
        count = math.prod(shape)
        if count * kind.itemsize != end - begin:
            raise self.archive.error(
                f"{where} does not fit its bytes", member=self.member, got=end - begin, expected=count * kind.itemsize
            )
        if count == 0:
            return torch.empty(shape, dtype=kind)
        flat = self._flat(name).view(kind)
        return _strided(flat, shape, row.get("strides"), self.archive, where)

    def _flat(self, name: str) -> torch.Tensor:
        """The bytes of a tensor: the memory of the file, or a copy where that is not aligned."""
        begin, end = self._entries[name]
        if name not in self._bytes:
            found = torch.frombuffer(
                self.archive.buffer, dtype=torch.uint8, count=end - begin, offset=self._start + begin
            )
            self._bytes[name] = found if found.data_ptr() % _WIDEST == 0 else found.clone()
        return self._bytes[name]


def _strided(flat: torch.Tensor, shape: list[int], strides: Any, archive: Archive, where: str) -> torch.Tensor:
    if strides is None:
        return flat.view(shape)
    dense = (
        isinstance(strides, list)
        and len(strides) == len(shape)
        and all(type(stride) is int for stride in strides)
        and sorted(strides) == sorted(_dense_strides(shape, strides))
    )
    if not dense:
        raise archive.error(f"{where} has impossible strides", got=repr(strides)[:80])
    return flat.as_strided(shape, strides)


def _dense_strides(shape: list[int], strides: list[int]) -> list[int]:
    """The strides that a dense tensor with this order of dimensions must have."""
    order = sorted(range(len(shape)), key=lambda d: (-strides[d], -shape[d]))
    found, step = [0] * len(shape), 1
    for dim in reversed(order):
        found[dim] = step
        step *= shape[dim]
    return found


def _header(archive: Archive, member: str, view: memoryview) -> tuple[dict[str, tuple[int, int]], int]:
    """The begin and the end of every tensor, and the offset of the data in the archive's buffer."""
    if len(view) < 8:
        raise archive.error("the member is too short", member=member)
    (length,) = struct.unpack("<Q", view[:8])
    if length > len(view) - 8:
        raise archive.error("the header is longer than the member", member=member)
    try:
        entries = json.loads(bytes(view[8 : 8 + length]))
        spans = {
            name: (int(e["data_offsets"][0]), int(e["data_offsets"][1]))
            for name, e in entries.items()
            if name != "__metadata__"
        }
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise archive.error("the header cannot be read", member=member, got=type(error).__name__) from error
    room = len(view) - 8 - length
    if any(not 0 <= begin <= end <= room for begin, end in spans.values()):
        raise archive.error("a tensor lies outside of the member", member=member)
    return spans, archive.offset(member) + 8 + length


def mapped_weights(archive: Archive) -> MappedTensors:
    """The weights of an archive, shared with every pipeline of this process that was loaded from the same file.

    The manifest has their hash: a file that was rewritten in place, with its old size and time, is another one.
    """
    if archive.identity is None:
        return MappedTensors(archive, WEIGHTS)
    key = archive.identity, hashlib.sha256(archive.manifest_bytes()).digest()
    found = _LIVE.get(key)
    if found is None:
        found = _LIVE[key] = MappedTensors(archive, WEIGHTS)
    return found


def origin_of(row: dict[str, Any]) -> int | None:
    """What tied tensors have in common in the rows of a file."""
    found = row.get("origin")
    return found if type(found) is int else None


def tensors_of(rows: Sequence[Any], tensors: MappedTensors, field: str) -> Iterator[torch.Tensor]:
    """The tensors of a list of manifest rows."""
    for index, row in enumerate(rows):
        if not isinstance(row, dict):
            raise ArchiveError("malformed", where=f"$.{field}[{index}]", got=type(row).__name__, expected="a map")
        yield tensors.tensor(row, f"$.{field}[{index}]")
