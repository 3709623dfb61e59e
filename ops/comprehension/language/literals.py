"""Types of literals: a literal is a float32, and a double where its expression meets doubles."""

from __future__ import annotations

from dataclasses import replace

from ..expr.dtypes import FLOAT32, FLOAT64, DType
from ..expr.ir import Const, Expr, Op


def in_context(e: Expr, dtype: DType) -> Expr:
    """The expression as its context reads it: computed in double from its literals on, where that is a double.

    Only an expression changes whose float32 comes from literals and from functions of integers; a float32 of a tensor
    or of a cast is one in every context.

    Args:
        e: an expression with its type.
        dtype: the type in which its operator, its cast or its statement takes it.

    Example:
        >>> in_context(op("neg", Const(FLOAT32, 0.1)), FLOAT64)  # doctest: +SKIP
        Op(float64, "neg", (Const(float64, 0.1),))
    """
    return _widened(e) if dtype == FLOAT64 and _is_untied(e) else e


def _is_untied(e: Expr) -> bool:
    """Whether no tensor and no cast makes it a float32."""
    if e.dtype != FLOAT32:
        return False
    if isinstance(e, Op):
        return e.name != "cast" and all(_is_untied(a) for a in e.args if a.dtype.is_float)
    return isinstance(e, Const)


def _widened(e: Expr) -> Expr:
    if isinstance(e, Op):
        return replace(e, dtype=FLOAT64, args=tuple(_widened(a) if a.dtype.is_float else a for a in e.args))
    return replace(e, dtype=FLOAT64)
