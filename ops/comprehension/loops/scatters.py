"""Turns scatters into gathers: solves `target(e1, e2, ...) += value` for the target's own axes.

Each element is then written once, so that it is a sum in a register, and threads need no synchronisation.
"""

from __future__ import annotations

from dataclasses import replace

from ..expr.ir import (
    Access,
    Const,
    Expr,
    Nest,
    Op,
    TensorType,
    Var,
    box_of,
    integer,
    op,
    rebuild,
    substitute,
    var,
    variables,
)
from ..program.affine import Affine, Box, affine, bounds, conjunction, expression, never_wraps
from ..program.folding import fold


def gathered(nest: Nest, target: TensorType) -> Nest:
    """Solves `target(e1, e2, ...) += value` for one variable of each index, so that each element is written once."""
    if nest.op != "+" or nest.init or (not nest.is_scatter and _stays_inside(nest, target)):
        return nest
    quotients = [_exact_quotient(i, nest) for i in nest.index]
    forms = [form for form, _ in quotients]
    if any(not f.is_plain for f in forms):
        return nest
    solution = _Solution(nest)
    axes = [(f"{d}", n) for d, n in enumerate(target.shape)]  # no index variable of a text begins with a digit
    solution.box.update(box_of(dict(axes)))
    for (axis, _), (form, by) in zip(axes, quotients, strict=True):
        if not solution.solve(form, Affine(((var(axis), by),), 0)):
            return nest
    solved, conditions = solution.solved, solution.conditions
    if not all(_is_exact(e, solution.box) for e in (*solved.values(), *conditions)):
        return nest
    rest = [(a, n) for a, n in nest.axes if a not in solved]
    value = nest.value
    if conditions:
        total = conditions[0]
        for c in conditions[1:]:
            total = op("&&", total, c)
        value = op("?:", total, all_guarded(value), Const(value.dtype, 0.0 if value.dtype.is_float else 0))
    value = fold(substitute(value, solved))
    return replace(nest, axes=tuple(axes + rest), index=tuple(var(a) for a, _ in axes), value=value)


def _is_exact(e: Expr, box: Box) -> bool:
    """Whether everything that is computed on the way to a place or a condition stays in its type."""
    inside = all(_is_exact(a, box) for a in e.args) if isinstance(e, Op) else True
    return inside and (e.dtype.is_bool or never_wraps(e, box))


def _stays_inside(nest: Nest, target: TensorType) -> bool:
    box = nest.box
    spans = [bounds(i, box) for i in nest.index]
    return all(s is not None and s[0] >= 0 and s[1] < n for s, n in zip(spans, target.shape, strict=True))


def _exact_quotient(index: Expr, nest: Nest) -> tuple[Affine, int]:
    """An index as `form / by` where the value's condition says that nothing is left over, else over 1."""
    box = nest.box
    match index, nest.value:
        case Op(name="/", args=(number, Const(value=by))), Op(name="?:", args=(condition, _, Const(value=0))) if by > 1:
            whole = op("==", op("%", number, integer(int(by))), integer(0)) in conjunction(condition)
            if whole and never_wraps(number, box):
                return affine(number), int(by)
    return affine(index), 1


class _Solution:
    """The nest's variables as expressions over the target's axes, and the conditions for them."""

    def __init__(self, nest: Nest) -> None:
        self._extents = nest.extents
        self.solved: dict[str, Expr] = {}
        self.conditions: list[Expr] = []
        self.box = nest.box

    def solve(self, form: Affine, target: Affine) -> bool:
        """Solves `form == target` for the longest variable that is still free; False where it is inside a division."""
        form = affine(substitute(expression(form), self.solved))
        free = {v for a, _ in form.terms for v in variables(a)} & (self._extents.keys() - self.solved.keys())
        if not free:
            self.conditions.append(op("==", expression(form), expression(target)))
            return True
        hidden = {v for a, _ in form.terms if not isinstance(a, Var) for v in variables(a)}
        plain = [v for v in form.coefficients if v in free - hidden]
        if not plain:
            return False
        chosen = max(plain, key=self._extents.__getitem__)
        c = form.coefficients[chosen]
        rest = target.plus(form.plus(Affine(((var(chosen), 1),), 0), -c), -1)
        self._put(chosen, rest if c > 0 else rest.times(-1), abs(c))
        return True

    def _put(self, chosen: str, numerator: Affine, by: int) -> None:
        """`chosen = numerator / by`, where nothing is left over and the quotient is one of its values."""
        quotient = expression(numerator)
        conditions: list[Expr] = []
        if by > 1:
            quotient = op("/", quotient, integer(by))
            conditions.append(op("==", op("%", expression(numerator), integer(by)), integer(0)))
        span = bounds(quotient, self.box)
        if span is None or span[0] < 0:
            conditions.append(op(">=", quotient, integer(0)))
        if span is None or span[1] >= self._extents[chosen]:
            conditions.append(op("<", quotient, integer(self._extents[chosen])))
        # Earlier solutions may contain this variable.
        value = {chosen: quotient}
        self.solved = {v: substitute(e, value) for v, e in self.solved.items()} | value
        self.conditions = [substitute(e, value) for e in self.conditions] + conditions


def all_guarded(e: Expr) -> Expr:
    """An expression under a new condition, so that its reads may be outside of their tensors."""
    e = rebuild(e, all_guarded)
    if isinstance(e, Access):
        return replace(e, guards=tuple("guarded" if g == "inside" else g for g in e.guards))
    return e
