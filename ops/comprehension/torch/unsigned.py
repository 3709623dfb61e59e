"""uint64 by torch's operators on int64, which has the same bits: what depends on the sign takes another way.

Subtracting 2^63, which flips the highest bit, brings unsigned numbers into the order of signed ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from ..expr.dtypes import INT64, DType
from ..expr.ir import Const, Expr, Nest, Op, Program

HALF = 1 << 63


def is_wide(dtype: DType) -> bool:
    """Whether a type is uint64."""
    return dtype.name == "uint64"


def as_signed(value: int | float | bool, dtype: DType) -> int | float | bool:
    """The number of int64 with the bits of a number of uint64; numbers of other types as they are."""
    return value - 2 * HALF if is_wide(dtype) and value >= HALF else value


def as_unsigned(value: int | float | bool, dtype: DType) -> int | float | bool:
    """The number of uint64 with the bits of a number of int64; numbers of other types as they are."""
    return value + 2 * HALF if is_wide(dtype) and value < 0 else value


def ordered(t: torch.Tensor) -> torch.Tensor:
    """Numbers in int64 that have the order of the unsigned ones; applied twice it gives the same again."""
    return torch.bitwise_xor(t, -HALF)


def _halved(t: torch.Tensor) -> torch.Tensor:
    return (t >> 1) & (HALF - 1)


def _less(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return ordered(a) < ordered(b)


def _divide(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The quotient, from that of the half; 0 where the divisor is 0, as in every emitter."""
    small = torch.where(b > 0, b, 1)
    quotient = torch.div(_halved(a), small, rounding_mode="floor") << 1
    quotient = quotient + ~_less(a - quotient * small, small)
    return torch.where(b > 0, quotient, torch.where(b == 0, 0, (~_less(a, b)).to(torch.int64)))


def _modulo(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.where(b == 0, 0, a - _divide(a, b) * b)


def to_float(t: torch.Tensor, into: torch.dtype) -> torch.Tensor:
    """The nearest floats; a half that keeps the lowest bit rounds as the whole does."""
    return torch.where(t < 0, (_halved(t) | (t & 1)).to(into) * 2, t.to(into))


def from_float(t: torch.Tensor) -> torch.Tensor:
    """The numbers without their fractions; what no uint64 holds becomes what it does as an int64."""
    large = (t >= float(HALF)) & (t < 2 * float(HALF))
    return torch.where(large, ordered(torch.where(large, t - float(HALF), 0).to(torch.int64)), t.to(torch.int64))


FUNCTIONS: dict[str, Callable[..., torch.Tensor]] = {
    "<": _less,
    ">": lambda a, b: _less(b, a),
    "<=": lambda a, b: ~_less(b, a),
    ">=": lambda a, b: ~_less(a, b),
    "min": lambda a, b: ordered(torch.minimum(ordered(a), ordered(b))),
    "max": lambda a, b: ordered(torch.maximum(ordered(a), ordered(b))),
    "/": _divide,
    "%": _modulo,
    "abs": lambda a: a,
}
"""Functions of int64 tensors that hold uint64, where torch's own would see the sign."""


def is_ordered(nest: Nest, program: Program) -> bool:
    """Whether a nest takes the largest or smallest of uint64."""
    return nest.op in ("max", "min") and is_wide(program.tensors[nest.target].dtype)


def in_order(nest: Nest, program: Program) -> tuple[Nest, Program, str | None]:
    """Such a nest on int64 in the order of uint64, its program, and the name that its base has there."""
    target, dtype = program.tensors[nest.target], program.tensors[nest.target].dtype
    value: Expr = nest.value if nest.value.dtype == dtype else Op(dtype, "cast", (nest.value,))
    base = None if nest.base is None else f"{nest.base} in order"
    tensors = {**program.tensors, nest.target: replace(target, dtype=INT64)}
    if base is not None and nest.base is not None:
        tensors[base] = replace(program.tensors[nest.base], dtype=INT64)
    value = Op(INT64, "cast", (Op(dtype, "-", (value, Const(dtype, HALF))),))
    return replace(nest, value=value, base=base), replace(program, tensors=tensors), base
