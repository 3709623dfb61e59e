"""Integer analysis of index expressions: affine forms, intervals, and proofs under conditions.

Forms reason in whole numbers without end, code computes in 32 or 64 bits. Both agree where `never_wraps` says so, and
`widths.marked` puts a cast around every operation where it does not; forms do not look through casts. A proof that
fails proves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd

from ..expr.dtypes import DType
from ..expr.ir import COMPARISONS, Access, Const, Expr, Load, Op, Var, integer, is_tested, op

Box = Mapping[str, tuple[int, int]]
"""The least and the greatest value of each index variable."""


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
        terms = tuple((a, c) for a, c in sums.items() if c or is_tested(a))  # what is tested stays, and is computed
        return Affine(terms, self.const + scale * other.const)

    def times(self, factor: int) -> Affine:
        """`factor * self`."""
        return Affine((), 0).plus(self, factor)


_RING = frozenset({"+", "-", "*", "neg"})
"""Operators that integers of a width wrap in, so that a result within the width is right whatever wrapped before."""


def affine(e: Expr) -> Affine:
    """The affine form of an integer expression; a subexpression that is no integer is an atom."""
    if e.dtype.is_integral:
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


Span = tuple[int, int]


def bounds(e: Expr, box: Box) -> Span | None:
    """The least and the greatest value that an integer expression can take as it is computed, or None when unknown."""
    return _Spans(box).computed(e)


def span_of(form: Affine, box: Box) -> Span | None:
    """The least and the greatest value of an affine form, in numbers without end, or None when unknown."""
    return _Spans(box).form(form)


def never_wraps(e: Expr, box: Box) -> bool:
    """Whether the affine form of an integer expression is always equal to the computed value."""
    return e.dtype.is_integral and _Spans(box).is_exact(e)


def fits(span: Span | None, dtype: DType) -> bool:
    """Whether values between these bounds are values of an integer type.

    A bound that a tracer's symbol stands for does not say, and is not asked: the answer would become a limit on the
    sizes of what is exported. Shapes do not depend on it, and what runs has numbers.
    """
    if span is None or not dtype.is_integral:
        return False
    low, high = dtype.span
    return (type(span[0]) is not int or span[0] >= low) and (type(span[1]) is not int or span[1] <= high)


class _Spans:
    """Intervals over one box. Each expression is looked at once, however often others share it."""

    def __init__(self, box: Box) -> None:
        self._box = box
        self._known: dict[int, tuple[Expr, Span | None]] = {}
        self._exact: dict[int, tuple[Expr, bool]] = {}

    def computed(self, e: Expr) -> Span | None:
        """The values that an expression takes: those of its form, or any of its type where that does not say."""
        if not e.dtype.is_integral:
            return None
        if id(e) not in self._known:
            span = self.form(affine(e)) if self._is_form(e) else self._atom(e)
            if span is not None and not (fits(span, e.dtype) and self._agrees(e)):
                span = e.dtype.span
            self._known[id(e)] = e, span
        return self._known[id(e)][1]

    @staticmethod
    def _is_form(e: Expr) -> bool:
        return affine(e).terms != ((e, 1),)

    def form(self, form: Affine) -> Span | None:
        low = high = form.const
        for atom, c in form.terms:
            span = self._atom(atom)
            if span is None:
                return None
            low += c * span[0 if c > 0 else 1]
            high += c * span[1 if c > 0 else 0]
        return low, high

    def is_exact(self, e: Expr) -> bool:
        """Whether the form is the value."""
        if id(e) not in self._exact:
            self._exact[id(e)] = e, fits(self.form(affine(e)), e.dtype) and self._agrees(e)
        return self._exact[id(e)][1]

    def _agrees(self, e: Expr) -> bool:
        """Whether form and value are equal but for what the type wraps; of what is converted, without that."""
        if not isinstance(e, Op) or e.name not in _RING:
            return True
        return all(self._agrees(a) if a.dtype == e.dtype else self._converts(a, e.dtype) for a in e.args)

    def _converts(self, a: Expr, into: DType) -> bool:
        return a.dtype.is_integral and self.is_exact(a) and fits(self.computed(a), into)

    def _argument(self, a: Expr, into: DType) -> Span | None:
        """An argument's values as its operator takes them; any of its type where they may wrap on the way."""
        span = self.computed(a)
        return span if span is None or fits(span, into) else into.span

    def _atom(self, e: Expr) -> Span | None:
        """The values of an atom; None only where a variable has no range yet."""
        if isinstance(e, Var):
            return self._box.get(e.name)
        if isinstance(e, (Access, Load)):
            return e.dtype.span if e.dtype.is_integral else None
        if not isinstance(e, Op) or not e.dtype.is_integral:
            return None
        if e.name == "cast":
            return self._cast(e)
        spans = [self._argument(a, e.dtype) if a.dtype.is_integral else e.dtype.span for a in e.args[-2:]]
        first, second = (*spans, None)[:2]
        if e.name == "%" and second and second[0] > 0:
            inside = first and first[0] >= 0 and first[1] < second[0]
            return first if inside else (0, second[1] - 1)
        if None in spans:
            return None
        return _combined(e.name, first, second) or e.dtype.span

    def _cast(self, e: Op) -> Span | None:
        source = e.args[0]
        if source.dtype.is_bool:
            return 0, 1
        if not source.dtype.is_integral:
            return e.dtype.span  # a float may have any value, NaN included
        return self._argument(source, e.dtype)


def _combined(name: str, first: Span | None, second: Span | None) -> Span | None:
    if first is None or second is None:
        return None
    match name:
        case "/" if second[0] > 0:
            corners = [a // b for a in first for b in second]
            return min(corners), max(corners)
        case "*":
            corners = [a * b for a in first for b in second]
            return min(corners), max(corners)
        case "min":
            return min(first[0], second[0]), min(first[1], second[1])
        case "max":
            return max(first[0], second[0]), max(first[1], second[1])
        case "?:":
            return min(first[0], second[0]), max(first[1], second[1])
    return None


def conjunction(condition: Expr) -> list[Expr]:
    """The conditions that all hold where their conjunction does."""
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
        span = span_of(form.plus(fact, -1), box)
        if span is not None and span[0] >= 0:
            return True
    return False
