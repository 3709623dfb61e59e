"""The scalar types of the language, how they join, and what may be assigned to what."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class DType:
    """A scalar type.

    Args:
        name: torch's name for it, `"float32"`.
        kind: `"bool"`, `"uint"`, `"int"` or `"float"`.
        bits: its width.
    """

    name: str
    kind: str
    bits: int

    def __str__(self) -> str:
        return self.name

    @property
    def is_integral(self) -> bool:
        """Signed and unsigned integers, not bool."""
        return self.kind in ("int", "uint")

    @property
    def is_float(self) -> bool:
        """Floating point of any width."""
        return self.kind == "float"

    @property
    def is_bool(self) -> bool:
        """Conditions."""
        return self.kind == "bool"


BOOL = DType("bool", "bool", 8)
INT32 = DType("int32", "int", 32)
INT64 = DType("int64", "int", 64)
FLOAT32 = DType("float32", "float", 32)
FLOAT64 = DType("float64", "float", 64)
FLOAT16 = DType("float16", "float", 16)

_INTS = {f"{u}int{b}": DType(f"{u}int{b}", f"{u}int", b) for u in ("", "u") for b in (8, 16, 32, 64)}
SCALARS: dict[str, DType] = {
    "bool": BOOL,
    "float": FLOAT32,
    "float16": FLOAT16,
    "half": FLOAT16,
    "float32": FLOAT32,
    "double": FLOAT64,
    "float64": FLOAT64,
    **_INTS,
}
BY_NAME: dict[str, DType] = {t.name: t for t in SCALARS.values()}


def join(a: DType, b: DType) -> DType:
    """The type of an operation on both: float beats int, wider wins, mixed sign becomes signed, bool yields."""
    if a == b or b.is_bool:
        return a
    if a.is_bool:
        return b
    if a.is_float != b.is_float:
        return a if a.is_float else b
    bits = max(a.bits, b.bits)
    if a.is_float:
        return a if a.bits == bits else b
    return BY_NAME[f"{'uint' if a.kind == b.kind == 'uint' else 'int'}{bits}"]


def narrows(value: DType, into: DType) -> bool:
    """Whether assigning a value of the first type to the second needs a cast."""
    return join(value, into) != into or (value.is_bool != into.is_bool)


def stored(dtype: DType) -> torch.dtype:
    """The torch type of a scalar type in memory."""
    found: torch.dtype = getattr(torch, dtype.name)
    return found
