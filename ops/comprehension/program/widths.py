"""Marks in an expression where an integer may leave its type, so that proofs and generated code agree."""

from __future__ import annotations

from dataclasses import replace

from ..expr.dtypes import DType
from ..expr.ir import Expr, Op, rebuild
from .affine import Box, bounds, fits, never_wraps

_WRAPPING = frozenset({"+", "-", "*", "neg"})


def marked(e: Expr, box: Box) -> Expr:
    """The same value, with a cast to its own type around every operation that may wrap over the ranges given.

    So is an argument that its operator converts to a type that may not hold it, as where signs are mixed. Forms take a
    cast for a number of its own, so what they say of the rest is what every emitter computes.

    Args:
        e: any expression; its variables have ranges.
        box: the ranges.
    """
    e = rebuild(e, lambda c: marked(c, box))
    if not isinstance(e, Op) or e.name == "cast":
        return e
    into = e.operands
    if into.is_integral:
        first = 1 if e.name == "?:" else 0
        e = replace(e, args=(*e.args[:first], *(_held(a, into, box) for a in e.args[first:])))
    if e.name in _WRAPPING and e.dtype.is_integral and not never_wraps(e, box):
        return Op(e.dtype, "cast", (e,), place=e.place)
    return e


def _held(a: Expr, into: DType, box: Box) -> Expr:
    """An argument, with a cast where the conversion may change its value."""
    if a.dtype == into or not a.dtype.is_integral or fits(bounds(a, box), into):
        return a
    return Op(into, "cast", (a,), place=a.place)
