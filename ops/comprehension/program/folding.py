"""Simplifies expressions: computes constants as the code would, and uses the ranges of variables."""

from __future__ import annotations

from ..expr.dtypes import BOOL, DType
from ..expr.ir import COMPARISONS, Const, Expr, Op, accesses, is_tested, rebuild
from .affine import Affine, Box, affine, bounds, expression, fits, never_wraps, span_of


def fold(e: Expr) -> Expr:
    """Evaluates constant integers and conditions, and drops neutral elements."""
    return _folded(rebuild(e, fold))


def simplified(e: Expr, box: Box) -> Expr:
    """Like `fold`, and also decides comparisons and divisions by the ranges of the variables."""
    e = _folded(rebuild(e, lambda c: simplified(c, box)))
    if not isinstance(e, Op) or len(e.args) != 2 or not e.operands.is_integral or is_tested(e):
        return e
    if not all(never_wraps(a, box) and fits(bounds(a, box), e.operands) for a in e.args):
        return e
    if e.name in COMPARISONS:
        return _decided(e, box)
    return _as(_divided(e, box), e.dtype) if e.name in ("/", "%") else e


def _as(e: Expr, dtype: DType) -> Expr:
    return e if e.dtype == dtype else fold(Op(dtype, "cast", (e,), place=e.place))


def _decided(e: Op, box: Box) -> Expr:
    span = span_of(affine(e.args[0]).plus(affine(e.args[1]), -1), box)
    if span is None:
        return e
    low, high = span
    always = {"<": high < 0, "<=": high <= 0, ">": low > 0, ">=": low >= 0, "==": low == high == 0}
    never = {"<": low >= 0, "<=": low > 0, ">": high <= 0, ">=": high < 0, "==": low > 0 or high < 0}
    always["!="], never["!="] = never["=="], always["=="]
    return Const(BOOL, True) if always[e.name] else Const(BOOL, False) if never[e.name] else e


def _divided(e: Op, box: Box) -> Expr:
    """A quotient or a remainder of `by * a + b`, where `b` stays below `by`."""
    by, form = e.args[1], affine(e.args[0])
    if not isinstance(by, Const) or by.value <= 0 or not form.is_plain:
        return e
    n = int(by.value)
    multiple = Affine(tuple((a, c // n) for a, c in form.terms if c % n == 0), form.const // n)
    rest = form.plus(multiple, -n)
    span = span_of(rest, box)
    if span is None or span[0] < 0 or span[1] >= n:
        return e
    found = expression(multiple if e.name == "/" else rest)
    return found if never_wraps(found, box) else e


def _folded(e: Expr) -> Expr:
    if not isinstance(e, Op):
        return e
    values = [a.value if isinstance(a, Const) else None for a in e.args]
    if e.name == "?:" and values[0] is not None:
        chosen = e.args[1] if values[0] else e.args[2]
        return chosen if chosen.dtype == e.dtype else Op(e.dtype, "cast", (chosen,), place=e.place)
    if e.name in ("&&", "||"):
        return _fold_logic(e, values)
    if not (e.dtype.is_integral or e.dtype.is_bool) or not all(a.dtype.is_integral for a in e.args):
        return e
    if all(v is not None for v in values):
        into = e.dtype if e.name == "cast" else e.operands
        found = _evaluate(
            e.name, [into.wrapped(int(v)) for v in values if v is not None] if into.is_integral else values
        )
        if found is not None:
            return Const(e.dtype, e.dtype.wrapped(found) if e.dtype.is_integral else bool(found), place=e.place)
    return _fold_neutral(e, values)


def _fold_logic(e: Op, values: list[int | float | bool | None]) -> Expr:
    for this, other in ((0, 1), (1, 0)):
        if values[this] is not None:
            neutral = e.name == "&&"
            if bool(values[this]) == neutral:
                return e.args[other]
            if not accesses(e.args[other]):  # both sides are computed, and their indices tested
                return Const(BOOL, not neutral)
    return e


def _fold_neutral(e: Op, values: list[int | float | bool | None]) -> Expr:
    left, right = values if len(values) == 2 else (None, None)
    if e.name in ("+", "-") and right == 0 and e.args[0].dtype == e.dtype:
        return e.args[0]
    if e.name == "+" and left == 0 and e.args[1].dtype == e.dtype:
        return e.args[1]
    if e.name in ("*", "/") and right == 1 and e.args[0].dtype == e.dtype:
        return e.args[0]
    if e.name == "*" and left == 1 and e.args[1].dtype == e.dtype:
        return e.args[1]
    return e


def _evaluate(name: str, values: list) -> int | bool | None:  # type: ignore[type-arg]  # generic over what it is given
    """Applies an integer operator; None where the language does not define it here (a zero divisor)."""
    if name in COMPARISONS:
        a, b = values
        return bool({"<": a < b, ">": a > b, "<=": a <= b, ">=": a >= b, "==": a == b, "!=": a != b}[name])
    match name, values:
        case "+", [a, b]:
            return int(a + b)
        case "-", [a, b]:
            return int(a - b)
        case "*", [a, b]:
            return int(a * b)
        case "/", [a, b] if b:
            return int(a // b)
        case "%", [a, b] if b:
            return int(a % b)
        case "min", [a, b]:
            return int(min(a, b))
        case "max", [a, b]:
            return int(max(a, b))
        case "neg", [a]:
            return int(-a)
        case "cast", [a]:
            return int(a)
    return None
