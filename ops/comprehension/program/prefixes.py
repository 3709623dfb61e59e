"""Sums over prefixes and suffixes, as in `O(i) +=! A(j) where j in 0:i+1`, without adding every pair of places.

The values are added in blocks of `BLOCK`, these in blocks in turn, and so on; each prefix is then a few whole blocks of
every level, as many as the digits of its length say. That is `n * BLOCK * log(n)` steps instead of `n * n`, in nests
like any others, so that gradients, emitters and devices need to know nothing of it. The same holds of products and
extremes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

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
LEAST = 1 << 16
"""Pairs of places below which adding them is quick enough."""


@dataclass(frozen=True)
class _Prefix:
    """A nest over `j <= i + offset`, or over `j >= i + offset` where `suffix` is set."""

    i: str
    j: str
    offset: int
    suffix: bool
    rest: Expr | None
    value: Expr


def in_blocks(program: Program) -> Program:
    """The program with its long sums over prefixes and suffixes by blocks."""
    nests: list[Nest] = []
    tensors = dict(program.tensors)
    for nest in program.nests:
        found = _prefix(nest)
        if found is None or prod(nest.extents[a] for a in (found.i, found.j)) < LEAST:
            nests.append(nest)
        else:
            nests += _Blocks(nest, found, tensors).nests()
    return program if len(nests) == len(program.nests) else replace(program, tensors=tensors, nests=tuple(nests))


def _prefix(nest: Nest) -> _Prefix | None:
    """What a nest adds, where its condition bounds one reduced axis by one axis of the left side, and no more."""
    value = nest.value
    plain = nest.init and nest.base is None and nest.op != "=" and all(isinstance(e, Var) for e in nest.index)
    if not plain or not isinstance(value, Op) or value.name != "?:" or value.args[2] != identity(nest.op, value.dtype):
        return None
    terms = conjunction(value.args[0])
    for term in terms:
        others = [t for t in terms if t is not term]
        known = facts(term)
        names = {a.name: c for a, c in known[0].terms if isinstance(a, Var)} if len(known) == 1 else {}
        if len(names) != 2 or not known[0].is_plain or sorted(names.values()) != [-1, 1]:
            continue
        low, high = sorted(names, key=names.__getitem__)
        i, j = (high, low) if low in nest.reduced else (low, high)
        free = [*others, value.args[1]]
        everywhere = all(g == "inside" for e in free for a in accesses(e) for g in a.guards)
        if everywhere and i in nest.left and j in nest.reduced and not any(i in variables(e) for e in free):
            rest = None if not others else others[0]
            for t in others[1:]:
                assert rest is not None
                rest = op("&&", rest, t)
            offset = known[0].const if j == low else -known[0].const
            return _Prefix(i, j, offset, j == high, rest, value.args[1])
    return None


class _Blocks:
    """The nests of one prefix sum."""

    def __init__(self, nest: Nest, prefix: _Prefix, tensors: dict[str, TensorType]) -> None:
        self._nest, self._prefix, self._tensors = nest, prefix, tensors
        self._dtype = nest.value.dtype
        self._around = [(a, n) for a, n in nest.axes if a in nest.left and a != prefix.i]
        self._used = [(a, n) for a, n in self._around if a in variables(prefix.value)]
        self._extent = nest.extents[prefix.j]

    def nests(self) -> Iterator[Nest]:
        """The values, their blocks level by level, what each level adds to a prefix, and the sum of that."""
        level, name, size = 0, "", self._extent
        yield self._values()
        name = self._name("values")
        parts: list[str] = []
        while True:
            parts.append(self._name(f"part{level}"))
            yield self._part(name, size, level)
            if size <= BLOCK:
                break
            size = -(-size // BLOCK)
            yield self._block(name, size, level)
            name, level = self._name(f"blocks{level}"), level + 1
        yield self._total(parts)

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

    def _values(self) -> Nest:
        """What is added, in the order of the prefix."""
        p, nest = self._prefix, self._nest
        value = p.value if p.value.dtype == self._dtype else Op(self._dtype, "cast", (p.value,))
        if p.rest is not None:
            value = op("?:", p.rest, value, identity(nest.op, self._dtype))
        if p.suffix:
            value = substitute(value, {p.j: op("-", integer(self._extent - 1), var(p.j))})
        others = [(a, n) for a, n in nest.axes if a in nest.reduced and a != p.j]
        return self._nest_of("values", [*self._used, (p.j, self._extent)], others, fold(value))

    def _block(self, name: str, size: int, level: int) -> Nest:
        """Sums of neighbours; behind the last there are none."""
        at = op("+", op("*", var("0block"), integer(BLOCK)), var("0in"))
        last = op("<", at, integer(self._tensors[name].shape[-1]))
        value = op("?:", last, self._read(name, at, "guarded"), identity(self._nest.op, self._dtype))
        return self._nest_of(f"blocks{level}", [*self._used, ("0block", size)], [("0in", BLOCK)], value)

    def _part(self, name: str, size: int, level: int) -> Nest:
        """What one level adds: as many of its blocks as the digit of the prefix's length says."""
        p = self._prefix
        start = integer(p.offset)
        length = (
            op("-", integer(self._extent), op("+", var(p.i), start))
            if p.suffix
            else op("+", var(p.i), op("+", start, integer(1)))
        )
        length = op("min", op("max", length, integer(0)), integer(self._extent))
        count = op("/", length, integer(BLOCK**level)) if level else length
        above = size > BLOCK  # else every block of this level counts, as there is none of more
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
        return replace(self._nest, axes=axes, op="=", value=value)
