"""Scatters turned inside out: `target(e1, e2, ...) += value` solved for the target's own axes.

Each element is then written once, so that it can be a sum in a register, and threads need not meet.
"""

from __future__ import annotations

from dataclasses import replace

from .affine import Affine, affine, bounds, expression, fold
from .ir import Access, Const, Expr, Nest, Op, TensorType, integer, op, rebuild, substitute, var, walk


def gathered(nest: Nest, target: TensorType) -> Nest:
    """Solves `target(e1, e2, ...) += value` for one variable of each index, so that each element is written once."""
    if nest.op != "+" or nest.init or (not nest.is_scatter and _stays_inside(nest, target)):
        return nest
    quotients = [_exact_quotient(i, nest.value) for i in nest.index]
    forms = [form for form, _ in quotients]
    if any(not f.is_plain for f in forms):
        return nest
    solved: dict[str, Expr] = {}
    box = {a: (0, n - 1) for a, n in nest.axes}
    conditions: list[Expr] = []
    # No index variable of a text begins with a digit.
    axes = [(f"{d}", n) for d, n in enumerate(target.shape)]
    box.update({a: (0, n - 1) for a, n in axes})
    for (axis, _), (form, by) in zip(axes, quotients, strict=True):
        _solve(Affine(((var(axis), by),), 0), form, nest.extents, solved, conditions, box)
    rest = [(a, n) for a, n in nest.axes if a not in solved]
    value = nest.value
    if conditions:
        total = conditions[0]
        for c in conditions[1:]:
            total = op("&&", total, c)
        value = op("?:", total, all_guarded(value), Const(value.dtype, 0.0 if value.dtype.is_float else 0))
    value = fold(substitute(value, solved))
    return replace(nest, axes=tuple(axes + rest), index=tuple(var(a) for a, _ in axes), value=value)


def _stays_inside(nest: Nest, target: TensorType) -> bool:
    box = {a: (0, n - 1) for a, n in nest.axes}
    spans = [bounds(i, box) for i in nest.index]
    return all(s is not None and s[0] >= 0 and s[1] < n for s, n in zip(spans, target.shape, strict=True))


def _exact_quotient(index: Expr, value: Expr) -> tuple[Affine, int]:
    """An index as `form / by` where the value's condition says that nothing is left over, else over 1."""
    match index, value:
        case Op(name="/", args=(number, Const(value=by))), Op(name="?:", args=(condition, _, Const(value=0))) if by > 1:
            if op("==", op("%", number, integer(int(by))), integer(0)) in walk(condition):
                return affine(number), int(by)
    return affine(index), 1


def _solve(
    target: Affine,
    form: Affine,
    extents: dict[str, int],
    solved: dict[str, Expr],
    conditions: list[Expr],
    box: dict[str, tuple[int, int]],
) -> None:
    """Solves `form == target` for the longest variable that is still free, adding what else must hold."""
    free = [v for v in form.coefficients if v not in solved]
    if not free:
        conditions.append(op("==", substitute(expression(form), solved), expression(target)))
        return
    chosen = max(free, key=extents.__getitem__)
    c = form.coefficients[chosen]
    others = form.plus(Affine(((var(chosen), 1),), 0), -c)
    rest = target.plus(affine(substitute(expression(others), solved)), -1)
    numerator = expression(rest if c > 0 else rest.times(-1))
    quotient: Expr = numerator
    if abs(c) > 1:
        quotient = op("/", numerator, integer(abs(c)))
        conditions.append(op("==", op("%", numerator, integer(abs(c))), integer(0)))
    span = bounds(quotient, box)
    if span is None or span[0] < 0:
        conditions.append(op(">=", quotient, integer(0)))
    if span is None or span[1] >= extents[chosen]:
        conditions.append(op("<", quotient, integer(extents[chosen])))
    solved[chosen] = quotient


def all_guarded(e: Expr) -> Expr:
    """An expression that a condition now stands around, so that what it reads may lie outside."""
    e = rebuild(e, all_guarded)
    if isinstance(e, Access):
        return replace(e, guards=tuple("guarded" if g == "inside" else g for g in e.guards))
    return e
