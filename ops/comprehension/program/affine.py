"""Integer analysis of index expressions: folding, affine forms, intervals, and proofs under conditions.

Everything here is exact or says nothing: `bounds` may be None, and a proof that fails proves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd

from ..expr.dtypes import BOOL
from ..expr.ir import COMPARISONS, Const, Expr, Op, Var, integer, op, rebuild

Box = Mapping[str, tuple[int, int]]
"""Least and greatest value of each index variable."""


@dataclass(frozen=True)
class Affine:
    """`const + sum of coefficient * atom`; an atom is a variable or an expression that is not affine."""

    terms: tuple[tuple[Expr, int], ...]
    const: int

    @property
    def coefficients(self) -> dict[str, int]:
        """Coefficient by variable, where every atom is a variable."""
        return {a.name: c for a, c in self.terms if isinstance(a, Var)}

    @property
    def is_plain(self) -> bool:
        """Whether every atom is a variable."""
        return all(isinstance(a, Var) for a, _ in self.terms)

    def plus(self, other: Affine, scale: int = 1) -> Affine:
        """`self + scale * other`."""
        sums = dict(self.terms)
        for atom, c in other.terms:
            sums[atom] = sums.get(atom, 0) + scale * c
        return Affine(tuple((a, c) for a, c in sums.items() if c), self.const + scale * other.const)

    def times(self, factor: int) -> Affine:
        """`factor * self`."""
        return Affine((), 0).plus(self, factor)


def affine(e: Expr) -> Affine:
    """The affine form of an integer expression."""
    match e:
        case Const(value=value):
            return Affine((), int(value))
        case Op(name="+", args=(a, b)):
            return affine(a).plus(affine(b))
        case Op(name="-", args=(a, b)):
            return affine(a).plus(affine(b), -1)
        case Op(name="neg", args=(a,)):
            return affine(a).times(-1)
        case Op(name="*", args=(a, b)):
            left, right = affine(a), affine(b)
            if not left.terms or not right.terms:
                return right.times(left.const) if not left.terms else left.times(right.const)
    return Affine(((e, 1),), 0)


def expression(form: Affine) -> Expr:
    """The affine form as an expression, constants last."""
    total: Expr | None = None
    for atom, c in form.terms:
        term = atom if abs(c) == 1 else op("*", integer(abs(c)), atom)
        signed = term if c > 0 else op("neg", term)
        total = signed if total is None else op("+" if c > 0 else "-", total, term)
    if total is None:
        return integer(form.const)
    if form.const:
        total = op("+" if form.const > 0 else "-", total, integer(abs(form.const)))
    return total


def fold(e: Expr) -> Expr:
    """Evaluates what is constant among integers and conditions, and drops neutral elements."""
    return _folded(rebuild(e, fold))


def simplified(e: Expr, box: Box) -> Expr:
    """Like `fold`; besides, what the ranges of the variables decide: comparisons, and divisions by numbers."""
    e = _folded(rebuild(e, lambda c: simplified(c, box)))
    if not isinstance(e, Op) or len(e.args) != 2 or not all(never_wraps(a, box) for a in e.args):
        return e
    if e.name in COMPARISONS:
        return _decided(e, box)
    return _divided(e, box) if e.name in ("/", "%") else e


def never_wraps(e: Expr, box: Box) -> bool:
    """Whether every integer on the way stays in its type, so that affine forms and bounds say what is computed."""
    if not e.dtype.is_integral:
        return False
    span = bounds(e, box)
    low, high = (-1 << (e.dtype.bits - 1), 1 << (e.dtype.bits - 1)) if e.dtype.kind == "int" else (0, 1 << e.dtype.bits)
    if span is None or span[0] < low or span[1] >= high:
        return False
    return not isinstance(e, Op) or all(never_wraps(a, box) for a in e.args if a.dtype.is_integral)


def _decided(e: Op, box: Box) -> Expr:
    span = bounds(op("-", *e.args), box)
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
    span = bounds(expression(rest), box)
    if span is None or span[0] < 0 or span[1] >= n:
        return e
    return expression(multiple if e.name == "/" else rest)


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
    if all(v is not None for v in values) and (found := _evaluate(e.name, values)) is not None:
        return Const(e.dtype, found, place=e.place)
    return _fold_neutral(e, values)


def _fold_logic(e: Op, values: list[int | float | bool | None]) -> Expr:
    for this, other in ((0, 1), (1, 0)):
        if values[this] is not None:
            neutral = e.name == "&&"
            return e.args[other] if bool(values[this]) == neutral else Const(BOOL, not neutral)
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
    return None


def bounds(e: Expr, box: Box) -> tuple[int, int] | None:
    """The least and the greatest value that an integer expression can take, or None when unknown."""
    form = affine(e)
    low = high = form.const
    for atom, c in form.terms:
        span = _atom_bounds(atom, box)
        if span is None:
            return None
        low += c * span[0 if c > 0 else 1]
        high += c * span[1 if c > 0 else 0]
    return low, high


def _atom_bounds(e: Expr, box: Box) -> tuple[int, int] | None:
    if isinstance(e, Var):
        return box.get(e.name)
    if not isinstance(e, Op):
        return None
    spans = [bounds(a, box) for a in e.args[-2:]] if e.args else []
    first, second = (*spans, None)[:2]
    match e.name:
        case "%" if second and second[0] > 0:
            inside = first and first[0] >= 0 and first[1] < second[0]
            return first if inside else (0, second[1] - 1)
        case "/" if first and second and second[0] > 0:
            corners = [a // b for a in first for b in second]
            return min(corners), max(corners)
        case "*" if first and second:
            corners = [a * b for a in first for b in second]
            return min(corners), max(corners)
        case "min" if first and second:
            return min(first[0], second[0]), min(first[1], second[1])
        case "max" if first and second:
            return max(first[0], second[0]), max(first[1], second[1])
        case "?:" if first and second:
            return min(first[0], second[0]), max(first[1], second[1])
        case "cast" if first and e.dtype.is_integral and e.dtype.bits >= 32:
            return first
    return None


def conjunction(condition: Expr) -> list[Expr]:
    """Conditions that all hold where the whole one does."""
    if isinstance(condition, Op) and condition.name == "&&":
        return [term for a in condition.args for term in conjunction(a)]
    return [condition]


def facts(condition: Expr, holds: bool = True) -> list[Affine]:
    """Affine forms that are `>= 0` where the condition holds (or does not)."""
    if not isinstance(condition, Op):
        return []
    if condition.name == "!":
        return facts(condition.args[0], not holds)
    if condition.name == ("&&" if holds else "||"):
        return facts(condition.args[0], holds) + facts(condition.args[1], holds)
    if condition.name not in COMPARISONS or not condition.operands.is_integral:
        return []
    return _comparison_facts(condition.name, affine(condition.args[0]).plus(affine(condition.args[1]), -1), holds)


def _comparison_facts(name: str, difference: Affine, holds: bool) -> list[Affine]:
    opposite = {"<": ">=", ">": "<=", "<=": ">", ">=": "<", "==": "!=", "!=": "=="}
    name = name if holds else opposite[name]
    one, negative = Affine((), 1), difference.times(-1)
    match name:
        case ">=":
            found = [difference]
        case ">":
            found = [difference.plus(one, -1)]
        case "<=":
            found = [negative]
        case "<":
            found = [negative.plus(one, -1)]
        case "==":
            found = [difference, negative]
        case _:
            found = []
    return [_reduced(f) for f in found]


def _reduced(form: Affine) -> Affine:
    """`a * x + b >= 0` is `x + b / a >= 0` for integers, with the quotient rounded down."""
    by = gcd(*(c for _, c in form.terms))
    return Affine(tuple((a, c // by) for a, c in form.terms), form.const // by) if by > 1 else form


def is_nonnegative(form: Affine, known: list[Affine], box: Box) -> bool:
    """Whether the form is shown to be `>= 0` by the box alone, or by one known fact and the box."""
    for fact in [Affine((), 0), *known]:
        span = bounds(expression(form.plus(fact, -1)), box)
        if span is not None and span[0] >= 0:
            return True
    return False
