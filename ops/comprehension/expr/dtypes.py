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
    def is_half(self) -> bool:
        """Floats of two bytes, which are computed in single precision."""
        return self.is_float and self.bits == 16

    @property
    def is_bool(self) -> bool:
        """Conditions."""
        return self.kind == "bool"

    @property
    def span(self) -> tuple[int, int]:
        """The least and the greatest value of an integer type."""
        return (0, (1 << self.bits) - 1) if self.kind == "uint" else (-1 << (self.bits - 1), (1 << (self.bits - 1)) - 1)

    def wrapped(self, value: int) -> int:
        """The value that an integer type holds where an operation's result is this."""
        low, high = self.span
        return (value - low) % (high - low + 1) + low


BOOL = DType("bool", "bool", 8)
INT32 = DType("int32", "int", 32)
INT64 = DType("int64", "int", 64)
FLOAT32 = DType("float32", "float", 32)
FLOAT64 = DType("float64", "float", 64)
FLOAT16 = DType("float16", "float", 16)
BFLOAT16 = DType("bfloat16", "float", 16)

_INTS = {f"{u}int{b}": DType(f"{u}int{b}", f"{u}int", b) for u in ("", "u") for b in (8, 16, 32, 64)}
SCALARS: dict[str, DType] = {
    "bool": BOOL,
    "float": FLOAT32,
    "float16": FLOAT16,
    "bfloat16": BFLOAT16,
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
        return FLOAT32 if a.bits == b.bits else a if a.bits == bits else b
    return BY_NAME[f"{'uint' if a.kind == b.kind == 'uint' else 'int'}{bits}"]


def narrows(value: DType, into: DType) -> bool:
    """Whether assigning a value of the first type to the second needs a cast."""
    return join(value, into) != into or (value.is_bool != into.is_bool)


def stored(dtype: DType) -> torch.dtype:
    """The torch type of a scalar type in memory."""
    found: torch.dtype = getattr(torch, dtype.name)
    return found
