"""Sums over prefixes and suffixes, as in `O(i) +=! A(j) where j in 0:i+1`; products and extremes alike.

As a nest such a sum has a step for every pair of places. Here it is brought to a form that emitters know as a scan,
which keeps a running total: what is added is a tensor of its own, and nothing else is reduced. The gradient of a sum in
this form is a sum over suffixes in the same form. What cannot scan (a GPU's threads, which have to share the work; the
gradients of products and of extremes) adds in blocks instead: the values in blocks of `BLOCK`, these in blocks in turn,
and so on. Each prefix is then a few whole blocks of every level, `n * BLOCK * log(n)` steps in nests like any others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce

from ..expr.ir import (
    Access,
    Expr,
    Nest,
    Op,
    Program,
    TensorType,
    Var,
    accesses,
    integer,
    op,
    substitute,
    var,
    variables,
)
from .affine import conjunction, facts
from .folding import fold
from .identity import identity

BLOCK = 32
LEAST = 1 << 12
"""The number of pairs of places below which adding all of them is fast enough."""


@dataclass(frozen=True)
class Prefix:
    """A reduction over `j <= i + offset`, or over `j >= i + offset` where `suffix` is set.

    Attributes:
        i: the axis of the left side.
        j: the reduced axis.
        offset: the offset in that condition.
        suffix: which of the two conditions it is.
        condition: the condition that bounds `j` by `i`.
        rest: the other conditions for a value to count, which do not depend on `i`.
        value: the reduced value, which does not depend on `i`.
    """

    i: str
    j: str
    offset: int
    suffix: bool
    condition: Expr
    rest: Expr | None
    value: Expr


def prefix_of(nest: Nest) -> Prefix | None:
    """What a nest adds, where its condition bounds one reduced axis by one axis of the left side, and no more."""
    starts = nest.base is None and nest.init
    value = _uncast(nest)
    if not (starts or nest.op == "+") or nest.op == "=" or not all(isinstance(e, Var) for e in nest.index):
        return None
    if value is None or value.name != "?:" or value.args[2] != identity(nest.op, value.dtype):
        return None
    terms = conjunction(value.args[0])
    for term in terms:
        if (found := _bound(nest, term)) is None:
            continue
        i, j, offset, suffix = found
        others = [t for t in terms if t is not term]
        free = [*others, value.args[1]]
        everywhere = all(g == "inside" for e in free for a in accesses(e) for g in a.guards)
        longs = nest.extents[i] > 1 and nest.extents[j] > 1 and nest.extents[i] * nest.extents[j] >= LEAST
        if longs and everywhere and not any(i in variables(e) for e in free):
            rest = reduce(lambda a, b: op("&&", a, b), others) if others else None
            added = value.args[1] if value.args[1].dtype == nest.value.dtype else _as(value.args[1], nest.value)
            return Prefix(i, j, offset, suffix, term, rest, added)
    return None


def _uncast(nest: Nest) -> Op | None:
    """The value without a conversion around its condition, which sums and products may convert inside of it."""
    value = nest.value
    if isinstance(value, Op) and value.name == "cast" and nest.op in ("+", "*"):
        value = value.args[0]
    return value if isinstance(value, Op) else None


def _as(e: Expr, like: Expr) -> Expr:
    return Op(like.dtype, "cast", (e,), place=e.place)


def _bound(nest: Nest, term: Expr) -> tuple[str, str, int, bool] | None:
    """The two axes of `j <= i + offset`, the offset, and whether it is `j >= i + offset`."""
    known = facts(term)
    names = {a.name: c for a, c in known[0].terms if isinstance(a, Var)} if len(known) == 1 else {}
    if len(names) != 2 or not known[0].is_plain or sorted(names.values()) != [-1, 1]:
        return None
    low, high = sorted(names, key=names.__getitem__)
    i, j = (high, low) if low in nest.reduced else (low, high)
    if i not in nest.left or j not in nest.reduced:
        return None
    return i, j, known[0].const if j == low else -known[0].const, j == high


def scan_of(nest: Nest) -> Prefix | None:
    """The prefix of a nest that a running total computes: it reduces one axis, and starts from nothing."""
    if nest.base is not None or len(nest.reduced) != 1 or len(set(nest.index)) < len(nest.index):
        return None
    prefix = prefix_of(nest)
    return prefix if prefix is not None and prefix.rest is None else None


# -- the form of scans -------------------------------------------------------------------------------------


def as_scans(program: Program) -> Program:
    """The program with its long sums over prefixes and suffixes in the form of scans of plain tensors."""
    nests: list[Nest] = []
    tensors = dict(program.tensors)
    for nest in program.nests:
        found = prefix_of(nest)
        if found is None or (scan_of(nest) is not None and _is_plain(found.value)):
            nests.append(nest)
        else:
            nests += _Parts(nest, found, tensors).scanned()
    return program if len(nests) == len(program.nests) else replace(program, tensors=tensors, nests=tuple(nests))


def _is_plain(value: Expr) -> bool:
    """Whether it reads a tensor as it is, so that its gradient goes to one place for each iteration."""
    names = [i.name for i in value.indices if isinstance(i, Var)] if isinstance(value, Access) else []
    return isinstance(value, Access) and len(set(names)) == len(value.indices)


def in_blocks(program: Program, operators: tuple[str, ...] = ("+", "*", "min", "max")) -> Program:
    """The program with its scans of some operators by blocks."""
    nests: list[Nest] = []
    tensors = dict(program.tensors)
    for nest in program.nests:
        found = prefix_of(nest) if nest.op in operators and nest.base is None else None
        nests += [nest] if found is None else _Parts(nest, found, tensors).blocks()
    return program if len(nests) == len(program.nests) else replace(program, tensors=tensors, nests=tuple(nests))


class _Parts:
    """The nests that one sum over prefixes becomes."""

    def __init__(self, nest: Nest, prefix: Prefix, tensors: dict[str, TensorType]) -> None:
        self._nest, self._prefix, self._tensors = nest, prefix, tensors
        self._dtype = nest.value.dtype
        free = [prefix.value, *([] if prefix.rest is None else [prefix.rest])]
        around = [(a, n) for a, n in nest.axes if a in nest.left and a != prefix.i]
        self._used = [(a, n) for a, n in around if any(a in variables(e) for e in free)]
        self._extent = nest.extents[prefix.j]

    def scanned(self) -> Iterator[Nest]:
        """The values, their scan, and the sum with the contents before, where there are some."""
        p, nest = self._prefix, self._nest
        yield self._values("values", reverse=False)
        read = self._read(self._name("values"), var(p.j), "inside")
        value = op("?:", p.condition, read, identity(nest.op, self._dtype))
        if nest.base is None:
            axes = tuple((a, n) for a, n in nest.axes if a in nest.left or a == p.j)
            yield replace(nest, axes=axes, value=value)
        else:
            yield self._nest_of("scan", [*self._used, (p.i, nest.extents[p.i])], [(p.j, self._extent)], value)
            yield self._total([self._name("scan")])

    def blocks(self) -> Iterator[Nest]:
        """The values, their blocks level by level, what each level adds to a prefix, and the sum of that."""
        level, size = 0, self._extent
        yield self._values("terms", reverse=self._prefix.suffix)
        name = self._name("terms")
        parts: list[str] = []
        while True:
            parts.append(self._name(f"part{level}"))
            yield self._part(name, size, level)
            if size <= BLOCK:
                break
            size = -(-size // BLOCK)
            yield self._block(name, size, level)
            name, level = self._name(f"blocks{level}"), level + 1
        yield replace(self._total(parts), op="=")

    def _name(self, what: str) -> str:
        return f"{self._nest.target}@{what}"

    def _nest_of(self, what: str, left: list[tuple[str, int]], reduced: list[tuple[str, int]], value: Expr) -> Nest:
        """A nest of a new tensor over plain axes."""
        name = self._name(what)
        self._tensors[name] = TensorType(name, self._dtype, tuple(n for _, n in left))
        index = tuple(var(a) for a, _ in left)
        operator = self._nest.op if reduced else "="
        return Nest(name, None, (*left, *reduced), index, operator, True, value, self._nest.place)

    def _read(self, name: str, at: Expr, guard: str) -> Access:
        indices = (*(var(a) for a, _ in self._used), at)
        return Access(self._dtype, name, indices, (*("inside" for _ in self._used), guard))

    def _values(self, name: str, reverse: bool) -> Nest:
        """The nest of the added values, in the order of the prefix."""
        p, nest = self._prefix, self._nest
        value = p.value
        if p.rest is not None:
            value = op("?:", p.rest, value, identity(nest.op, self._dtype))
        if reverse:
            value = substitute(value, {p.j: op("-", integer(self._extent - 1), var(p.j))})
        others = [(a, n) for a, n in nest.axes if a in nest.reduced and a != p.j]
        return self._nest_of(name, [*self._used, (p.j, self._extent)], others, fold(value))

    def _block(self, name: str, size: int, level: int) -> Nest:
        """The nest of the sums of neighbours; the last block may be shorter."""
        at = op("+", op("*", var("0block"), integer(BLOCK)), var("0in"))
        last = op("<", at, integer(self._tensors[name].shape[-1]))
        value = op("?:", last, self._read(name, at, "guarded"), identity(self._nest.op, self._dtype))
        return self._nest_of(f"blocks{level}", [*self._used, ("0block", size)], [("0in", BLOCK)], value)

    def _part(self, name: str, size: int, level: int) -> Nest:
        """The sum of one level: as many of its blocks as the digit of the prefix's length says."""
        p = self._prefix
        start = integer(p.offset)
        length = (
            op("-", integer(self._extent), op("+", var(p.i), start))
            if p.suffix
            else op("+", var(p.i), op("+", start, integer(1)))
        )
        length = op("min", op("max", length, integer(0)), integer(self._extent))
        count = op("/", length, integer(BLOCK**level)) if level else length
        above = size > BLOCK  # without a level above, every block of this level counts
        whole = op("*", op("/", count, integer(BLOCK)), integer(BLOCK)) if above else integer(0)
        within = op("<", var("0in"), op("-", count, whole))
        value = op(
            "?:",
            within,
            self._read(name, fold(op("+", whole, var("0in"))), "guarded"),
            identity(self._nest.op, self._dtype),
        )
        left = [*self._used, (p.i, self._nest.extents[p.i])]
        return self._nest_of(f"part{level}", left, [("0in", min(BLOCK, size))], fold(value))

    def _total(self, parts: list[str]) -> Nest:
        at = var(self._prefix.i)
        value: Expr = self._read(parts[0], at, "inside")
        for name in parts[1:]:
            value = op(self._nest.op, value, self._read(name, at, "inside"))
        kept = [a for a, _ in self._nest.axes if a in self._nest.left]
        axes = tuple((a, n) for a, n in self._nest.axes if a in kept)
        return replace(self._nest, axes=axes, value=value)
