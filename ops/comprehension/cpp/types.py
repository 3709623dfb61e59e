"""What emitted C++ is made of: the types of elements and of values, places in a tile, and the names of tensors."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..expr.dtypes import FLOAT32, FLOAT64, INT64, DType
from ..expr.ir import Const, Dynamic, Load, op

_MEMORY = {"bool": "uint8_t", "float16": "_Float16", "bfloat16": "bf16", "float32": "float", "float64": "double"}


def memory_type(dtype: DType) -> str:
    """The C++ type of a tensor's elements."""
    return _MEMORY.get(dtype.name, f"{dtype.name}_t")


def compute_type(dtype: DType) -> str:
    """The C++ type that values are computed in; half precision is computed in single."""
    if dtype.is_bool:
        return "bool"
    return "float" if dtype.is_half else memory_type(dtype)


@dataclass(frozen=True)
class Value:
    """A C++ expression without side effects: its text, type, and whether it has lanes."""

    code: str
    dtype: DType
    vector: bool


@dataclass(frozen=True)
class Point:
    """A place in the tile: offsets of unrolled axes, the vector's number, and how many of its lanes count."""

    offsets: tuple[tuple[str, int], ...]
    vector: int
    lanes: int


@dataclass
class Names:
    """The names in emitted code.

    Attributes:
        pointers: C++ names of tensors' pointers.
        types: element types of tensors.
        checks: collects the loads whose indices are tested; a test reports its number, from 1.
        clamp: clamp indices instead of testing them.
    """

    pointers: dict[str, str]
    types: dict[str, DType]
    checks: list[tuple[Load, int]]
    clamp: bool


def clamped(load: Load) -> Load:
    """The same address with its tested indices brought inside: where a store is skipped, what is read is not used."""

    def inside(d: Dynamic) -> Dynamic:
        index = op("min", op("max", d.index, Const(d.index.dtype, 0)), Const(d.index.dtype, d.size - 1))
        return replace(d, index=index, checked=False) if d.checked else d

    return replace(load, dynamic=tuple(inside(d) for d in load.dynamic))


def lane_type(dtype: DType) -> int:
    """Bytes of the values that decide how many lanes a vector has."""
    return 8 if dtype in (FLOAT64, INT64) or dtype.name == "uint64" else FLOAT32.bits // 8
