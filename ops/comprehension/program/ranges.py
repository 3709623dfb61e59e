"""Range inference: the values of each index variable of a statement.

Ranges of `where` are given. Then in rounds each unresolved variable takes every constraint `0 <= index < extent` in
which it is the only unresolved one, with the resolved ones at their worst case, and the intersection is its range.
Variables that are resolved in one round do not see each other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..expr.dtypes import BOOL
from ..expr.errors import EmptyRangeError, Place, RangeInferenceError
from ..expr.ir import Access, Const, Expr, Op, RangeSpec, Statement, Var, accesses, children, op, var, variables
from .affine import Affine, affine, span_of

Shapes = dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class Constraint:
    """`0 <= index <= last`."""

    index: Expr
    last: int


@dataclass
class Ranges:
    """The least and the greatest value of each variable, and further conditions on them."""

    box: dict[str, tuple[int, int]]
    predicate: Expr | None = None
    empty: bool = False
    """Whether a tensor is empty, so that a variable may have no value to take."""


def infer(s: Statement, shapes: Shapes, target: tuple[int, ...] | None) -> Ranges:
    """Infers the ranges of a statement whose sizes are constants already.

    Args:
        s: the statement.
        shapes: of every tensor that it may read.
        target: the shape of the left side where it is known.

    Raises:
        RangeInferenceError: no further variable can be resolved.
        EmptyRangeError: a variable has no value to take.
    """
    names = list(dict.fromkeys([*s.lhs, *variables(s.value), *(r.name for r in s.ranges), *_exists_names(s)]))
    found = Ranges({}, empty=any(0 in shape for shape in shapes.values()))
    given = {r.name: r for r in s.ranges}
    constraints = _constraints(s, shapes, target)
    while missing := [n for n in names if n not in found.box]:
        resolved = _given_round(found, given, missing) or _inferred_round(found, constraints, given, missing, s.place)
        if not resolved:
            name = next(n for n in missing if n not in given or n == missing[-1])
            raise RangeInferenceError(
                f"the range of '{name}' cannot be inferred",
                at=_place_of(name, s),
                fix=f"Use a where clause, such as 'where {name} in 0:10'.",
            )
        found.box.update(resolved)
    found.predicate = _predicate(s, found)
    return found


def _exists_names(s: Statement) -> list[str]:
    return [v for e in s.exists for v in variables(e)]


def _place_of(name: str, s: Statement) -> Place:
    for e in _all_nodes(s.value):
        if isinstance(e, Var) and e.name == name and e.place:
            return e.place
    return s.place


def _all_nodes(e: Expr) -> list[Expr]:
    return [e, *(n for c in children(e) for n in _all_nodes(c))]


def _constraints(s: Statement, shapes: Shapes, target: tuple[int, ...] | None) -> list[Constraint]:
    found = []
    if target is not None:
        found += [_peeled(var(v), n) for v, n in zip(s.lhs, target, strict=True)]
    for e in (s.value, *s.exists):
        for access in unguarded(e):
            found += [_peeled(i, n) for i, n in zip(access.indices, shapes[access.tensor], strict=True)]
    return found


def unguarded(e: Expr) -> list[Access]:
    """The accesses that are evaluated under no condition."""
    if isinstance(e, Op) and e.name == "?:":
        return unguarded(e.args[0])
    here = [e] if isinstance(e, Access) else []
    return here + [a for c in children(e) for a in unguarded(c)]


def _peeled(index: Expr, extent: int) -> Constraint:
    """`0 <= e / c <= last` is `0 <= e <= c * last + c - 1`, as `/` floors."""
    last = extent - 1
    while isinstance(index, Op) and index.name == "/" and isinstance(index.args[1], Const):
        divisor = int(index.args[1].value)
        if divisor <= 0:
            break
        index, last = index.args[0], last * divisor + divisor - 1
    return Constraint(index, last)


def _given_round(found: Ranges, given: dict[str, RangeSpec], missing: list[str]) -> dict[str, tuple[int, int]]:
    """The ranges of `where` whose bounds are known; a bound in other variables counts at its widest."""
    resolved = {}
    for name in missing:
        if name in given:
            low, high = (span_of(affine(e), found.box) for e in (given[name].low, given[name].high))
            if low is not None and high is not None:
                varies = bool(variables(given[name].low) or variables(given[name].high))  # it may be empty for some
                last = max(high[1], low[0]) - 1 if varies else high[1] - 1
                resolved[name] = _nonempty(name, low[0], last, given[name].place, found.empty or varies)
    return resolved


def _inferred_round(
    found: Ranges,
    constraints: list[Constraint],
    given: dict[str, RangeSpec],
    missing: list[str],
    place: Place,
) -> dict[str, tuple[int, int]]:
    resolved = {}
    for name in missing:
        if name in given:
            continue
        spans = [s for c in constraints if (s := _span(name, c, found, missing)) is not None]
        if spans:
            low, high = max(s[0] for s in spans), min(s[1] for s in spans)
            resolved[name] = _nonempty(name, low, high, place, found.empty)
    return resolved


def _nonempty(name: str, low: int, high: int, place: Place, empty: bool) -> tuple[int, int]:
    """The range; it has no value only where a tensor is empty."""
    if high < low - 1 or (high < low and not empty):
        raise EmptyRangeError(f"the range of '{name}' is empty", at=place, got=f"{low}:{high + 1}")
    return low, high


def _span(name: str, constraint: Constraint, found: Ranges, missing: list[str]) -> tuple[int, int] | None:
    """The range that a constraint gives a variable that is the only unresolved one in it."""
    form = affine(constraint.index)
    used = {v for atom, _ in form.terms for v in variables(atom)}
    coefficient = form.coefficients.get(name, 0)
    if not coefficient or used & set(missing) != {name} or any(accesses(a) for a, _ in form.terms):
        return None
    span = span_of(form.plus(Affine(((var(name), 1),), 0), -coefficient), found.box)
    if span is None:
        return None
    low, high = -span[0], constraint.last - span[1]
    if coefficient > 0:
        return -(-low // coefficient), high // coefficient
    return -(high // -coefficient), -low // -coefficient


def _predicate(s: Statement, found: Ranges) -> Expr | None:
    """The condition for each iteration from ranges with bounds in other variables."""
    total: Expr | None = None
    for r in s.ranges:
        if not (variables(r.low) or variables(r.high)):
            continue
        if r.name in s.lhs:
            raise RangeInferenceError(
                f"the range of '{r.name}' depends on other variables, but it is on the left side", at=r.place
            )
        inside = op("&&", op("<=", r.low, var(r.name)), op("<", var(r.name), r.high))
        total = inside if total is None else op("&&", total, inside)
    return None if total is None else replace(total, dtype=BOOL)
