"""Axes split by the divisors of indices, so that divisions and remainders leave the loops.

The gradient of a convolution of stride 2 adds only those values of the kernel whose distance is even: of the condition
`(y - kh) % 2 == 0` three quarters of a 2d nest's iterations would fail. For even and odd `y` the `kh` that count are
known, so such a nest becomes one for each remainder, without the condition. An axis that is only divided, as in
`X(i / 4) * Y(i % 4)`, becomes two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import gcd, prod

from ..expr.ir import Const, Dynamic, Expr, Load, Nest, Op, Var, box_of, integer, op, substitute, var, walk
from ..program.affine import Affine, Box, affine, conjunction, facts, is_nonnegative, never_wraps
from ..program.folding import simplified
from .ir import Loops

MOST = 16
"""The most nests that one nest may become."""


def divided(nest: Nest) -> Nest:
    """Splits the axes that the nest's indices divide, where none is written to as it is."""
    plain = {i.name for i in nest.index if isinstance(i, Var)}
    for axis, by in _divisors((nest.value, *nest.index), nest.extents).items():
        if axis in plain or not any(isinstance(n, Op) for i in nest.index for n in walk(i) if axis in _names(n)):
            continue
        outer = _outer(axis, by)
        whole: dict[str, Expr] = {axis: op("+", op("*", integer(by), var(outer)), var(axis))}
        axes = _split_axis(nest.axes, axis, by)
        box = box_of(dict(axes))
        nest = replace(
            nest,
            axes=axes,
            index=tuple(simplified(substitute(i, whole), box) for i in nest.index),
            value=simplified(substitute(nest.value, whole), box),
        )
    return nest


def split(loops: Loops) -> list[Loops]:
    """Splits the axes that a lowered nest divides, then by the remainders that its condition asks for."""
    for axis, by in _divisors(loops.expressions(), loops.extents).items():
        form = Affine(((var(_outer(axis, by)), by), (var(axis), 1)), 0)
        left, reduced = (_split_axis(axes, axis, by) for axes in (loops.left, loops.reduced))
        scatter = loops.scatter | ({_outer(axis, by)} if axis in loops.scatter else set())
        loops = _moved(replace(loops, left=left, reduced=reduced, scatter=scatter), {axis: form})
    return _by_remainders(loops)


# -- axes that are divided ---------------------------------------------------------------------------------


def _divisors(expressions: tuple[Expr, ...] | list[Expr], extents: dict[str, int]) -> dict[str, int]:
    """The one number that each axis is divided by alone, where it divides the extent and no remainder is asked for."""
    found: dict[str, set[int]] = {}
    operators = [n for x in expressions for n in walk(x) if isinstance(n, Op)]
    box = box_of(extents)
    for e in operators:
        if e.name == "==" and isinstance(e.args[0], Op) and e.args[0].name == "%":
            found.update({axis: {0} for axis in _names(e)})
    for e in (n for n in operators if n.name in ("/", "%")):
        by, form = e.args[1], affine(e.args[0])
        simple = form.is_plain and len(form.terms) == 1 and not form.const
        if isinstance(by, Const) and simple and never_wraps(e.args[0], box):
            ((axis, factor),) = form.coefficients.items()
            found.setdefault(axis, set()).add(int(by.value) if factor == 1 else 0)
    single = {axis: next(iter(numbers)) for axis, numbers in found.items() if len(numbers) == 1}
    return {a: n for a, n in single.items() if n > 1 and extents[a] % n == 0 and extents[a] > n}


def _outer(axis: str, by: int) -> str:
    """The name of a new axis; it begins with a digit, so that no index variable of a text has it."""
    return f"{by}by_{axis}"


def _split_axis(axes: tuple[tuple[str, int], ...], axis: str, by: int) -> tuple[tuple[str, int], ...]:
    pairs = ([(_outer(axis, by), n // by), (axis, by)] if a == axis else [(a, n)] for a, n in axes)
    return tuple(p for pair in pairs for p in pair)


def _names(e: Expr) -> set[str]:
    return {n.name for n in walk(e) if isinstance(n, Var)}


# -- remainders --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Remainder:
    """A condition `(factor * left + other * reduced + const) % by == 0`; without a reduced axis, `reduced` is None."""

    left: str
    reduced: str | None
    form: Affine
    by: int

    def of_reduced(self, axis: str, left: int) -> int:
        """The remainder of the reduced axis that goes with one of the left axis; its factor and `by` are coprime."""
        c = self.form.coefficients
        return next(k for k in range(self.by) if (c[self.left] * left + c[axis] * k + self.form.const) % self.by == 0)


def _by_remainders(loops: Loops) -> list[Loops]:
    """One nest for each remainder of the left axes that the condition ties to a multiple."""
    if loops.scatter or loops.base or not loops.covers or not _vanishes(loops):
        return [loops]
    found = list(_remainders(loops))
    used = [a for r in found for a in (r.left, r.reduced) if a]
    if not found or len(set(used)) < len(used) or prod(r.by for r in found) > MOST:
        return [loops]
    choices = (range(min(r.by, loops.extents[r.left])) for r in found)
    return [_phase(loops, dict(zip(found, chosen, strict=True))) for chosen in product(*choices)]


def _vanishes(loops: Loops) -> bool:
    """Whether an iteration whose condition fails adds nothing to the result."""
    e = loops.value
    if not isinstance(e, Op) or e.name != "?:":
        return False
    other = e.args[2]
    return not loops.reduced or (loops.op == "+" and isinstance(other, Const) and other.value == 0)


def _remainders(loops: Loops) -> Iterator[_Remainder]:
    assert isinstance(loops.value, Op)
    left, reduced = dict(loops.left), dict(loops.reduced)
    box = loops.box
    for term in conjunction(loops.value.args[0]):
        match term:
            case Op(name="==", args=(Op(name="%", args=(number, Const(value=by))), Const(value=0))) if by > 1:
                form = affine(number)
            case _:
                continue
        if not form.is_plain or not never_wraps(number, box):
            continue
        odd = [a for a, c in form.coefficients.items() if c % by]
        lefts, others = [a for a in odd if a in left], [a for a in odd if a in reduced]
        apart = all(gcd(form.coefficients[a], int(by)) == 1 for a in odd)
        if apart and len(lefts) == 1 and len(others) <= 1:
            yield _Remainder(lefts[0], others[0] if others else None, form, int(by))


def _phase(loops: Loops, chosen: dict[_Remainder, int]) -> Loops:
    """The nest where each left axis has one remainder; the axes then count multiples."""
    forms: dict[str, Affine] = {}
    extents = loops.extents
    for r, remainder in chosen.items():
        of = {r.left: remainder}
        if r.reduced:
            of[r.reduced] = r.of_reduced(r.reduced, remainder)
        for axis, start in of.items():
            forms[axis] = Affine(((var(axis), r.by),), start)
            extents[axis] = -(-(extents[axis] - start) // r.by)
    nothing = any(extents[a] <= 0 for a, _ in loops.reduced)
    moved = replace(
        loops,
        left=tuple((a, extents[a]) for a, _ in loops.left),
        reduced=() if nothing else tuple((a, extents[a]) for a, _ in loops.reduced),
    )
    if nothing:
        assert isinstance(loops.value, Op)
        moved = replace(moved, value=loops.value.args[2])
    return _without_ones(_moved(moved, forms))


def _without_ones(loops: Loops) -> Loops:
    """Drops the axes of extent 1."""
    ones = {a: Affine((), 0) for a, n in loops.extents.items() if n == 1}
    left, reduced = (tuple((a, n) for a, n in axes if a not in ones) for axes in (loops.left, loops.reduced))
    return _moved(replace(loops, left=left, reduced=reduced), ones) if ones else loops


# -- other variables ---------------------------------------------------------------------------------------


def _moved(loops: Loops, forms: dict[str, Affine]) -> Loops:
    """The nest with new variables in its expressions; its extents are those of the new ones already."""
    box = loops.box

    def change(e: Expr) -> Expr:
        return _proven(simplified(_replaced(e, forms), box), box)

    return loops.mapped(change)


def _replaced(e: Expr, forms: dict[str, Affine]) -> Expr:
    match e:
        case Var(name=name) if name in forms:
            return _expression(forms[name])
        case Load():
            return _moved_load(e, forms)
        case Op(args=args):
            return replace(e, args=tuple(_replaced(a, forms) for a in args))
    return e


def _expression(form: Affine) -> Expr:
    total: Expr = integer(form.const)
    for atom, c in form.terms:
        total = op("+", op("*", integer(c), atom), total)
    return total


def _moved_load(e: Load, forms: dict[str, Affine]) -> Load:
    address = Affine((), e.offset)
    for name, step in e.strides:
        address = address.plus(forms.get(name, Affine(((var(name), 1),), 0)), step)
    dynamic = tuple(replace(d, index=_replaced(d.index, forms)) for d in e.dynamic)
    return replace(e, strides=tuple(address.coefficients.items()), offset=address.const, dynamic=dynamic)


def _proven(e: Expr, box: Box, known: tuple[Affine, ...] | None = None) -> Expr:
    """Indices that have become affine, as addresses; checks go where the conditions around them say enough.

    `known` is None where no condition is left around an expression.
    """
    match e:
        case Op(name="?:" | "&&" | "||", args=(first, *rest)):
            then, *other = rest
            inside = (*(known or ()), *(facts(first) if e.name == "?:" else ()))
            args = (
                _proven(first, box, known),
                _proven(then, box, inside),
                *(_proven(x, box, known or ()) for x in other),
            )
            return replace(e, args=args)
        case Op(args=args):
            return replace(e, args=tuple(_proven(a, box, known) for a in args))
        case Load(dynamic=dynamic):
            e = replace(e, guarded=e.guarded and known is not None)
            for d in dynamic:
                e = _addressed(e, d, box, known or ())
    return e


def _addressed(e: Load, d: Dynamic, box: Box, known: tuple[Affine, ...]) -> Load:
    form = affine(d.index)
    last = Affine((), d.size - 1).plus(form, -1)
    if not form.is_plain:
        return e
    always = all(is_nonnegative(f, [], box) for f in (form, last))
    if d.checked and not always and not all(is_nonnegative(f, list(known), box) for f in (form, last)):
        return e
    address = Affine(tuple((var(v), s) for v, s in e.strides), e.offset).plus(form, d.step)
    kept = tuple(x for x in e.dynamic if x is not d)
    guarded = e.guarded or (d.checked and not always)
    return replace(e, strides=tuple(address.coefficients.items()), offset=address.const, dynamic=kept, guarded=guarded)
