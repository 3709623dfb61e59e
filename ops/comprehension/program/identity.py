"""The identities of reductions."""

from __future__ import annotations

from ..expr.dtypes import DType
from ..expr.ir import Const


def identity(name: str, dtype: DType) -> Const:
    """The first value of a reduction with this operator, which is also its result over no values."""
    if name in ("+", "*"):
        return Const(dtype, (0 if name == "+" else 1) if dtype.is_integral else (0.0 if name == "+" else 1.0))
    if dtype.is_float:
        return Const(dtype, float("inf") if name == "min" else float("-inf"))
    low, high = dtype.span
    return Const(dtype, high if name == "min" else low)
