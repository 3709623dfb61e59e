"""A lowered nest: flat addresses and plain loops, as schedules and emitters of generated code read it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import prod

from ..expr.ir import Expr, Load, box_of, rebuild, substitute, var, walk

ACCUMULATOR = "@acc"
"""The name by which an epilogue reads the finished reduction."""


@dataclass(frozen=True)
class Scan:
    """Two axes of a nest that keeps a running total: what is stored at `i` combines the values up to `j = i + offset`.

    Attributes:
        i: the axis that the store uses, with its extent; none of the nest's left axes.
        j: the axis that the value uses, with its extent; none of the nest's reduced axes.
        offset: the offset in that condition.
        suffix: whether the values from `j = i + offset` on are combined, the last one first.
    """

    i: tuple[str, int]
    j: tuple[str, int]
    offset: int
    suffix: bool

    def renamed(self, names: Mapping[str, str]) -> Scan:
        """The scan with other names for some axes."""
        (i, n), (j, m) = self.i, self.j
        return replace(self, i=(names.get(i, i), n), j=(names.get(j, j), m))


@dataclass(frozen=True)
class Loops:
    """A lowered nest.

    Attributes:
        target: the version that is written.
        store: the place that is written, as a load of the target.
        left: axes that the store uses, outermost first, with their extents.
        reduced: the other axes.
        op, init: as in `Nest`.
        base: the version whose contents come first.
        covers: whether every element of the target is written.
        value: the value of each iteration, with `Load` for accesses.
        final: the stored value, in which `@acc` is the reduction; None where it is the reduction itself.
        scatter: the axes of the left side along which two iterations may write the same element.
        scan: where the reduction is a running total, its axes; nothing else is reduced then.
    """

    target: str
    store: Load
    left: tuple[tuple[str, int], ...]
    reduced: tuple[tuple[str, int], ...]
    op: str
    init: bool
    base: str | None
    covers: bool
    value: Expr
    final: Expr | None
    scatter: frozenset[str]
    scan: Scan | None = None

    @property
    def extents(self) -> dict[str, int]:
        """The extent of each axis."""
        return dict((*self.left, *self.reduced, *((self.scan.i, self.scan.j) if self.scan else ())))

    @property
    def box(self) -> dict[str, tuple[int, int]]:
        """The least and the greatest value of each axis."""
        return box_of(self.extents)

    def mapped(self, change: Callable[[Expr], Expr]) -> Loops:
        """The nest with its value, its epilogue and its store changed."""
        store = change(self.store)
        assert isinstance(store, Load)
        final = None if self.final is None else change(self.final)
        return replace(self, store=store, value=change(self.value), final=final)

    def renamed(self, names: Mapping[str, str]) -> Loops:
        """The nest with other names for some of its axes."""
        variables: dict[str, Expr] = {old: var(new) for old, new in names.items()}

        def change(e: Expr) -> Expr:
            e = rebuild(e, change)
            if isinstance(e, Load):
                return replace(e, strides=tuple((names.get(v, v), s) for v, s in e.strides))
            return e

        left, reduced = (tuple((names.get(a, a), n) for a, n in axes) for axes in (self.left, self.reduced))
        scatter = frozenset(names.get(a, a) for a in self.scatter)
        scan = None if self.scan is None else self.scan.renamed(names)
        moved = replace(self, left=left, reduced=reduced, scatter=scatter, scan=scan)
        return moved.mapped(lambda e: change(substitute(e, variables)))

    @property
    def iterations(self) -> int:
        """The number of iterations that compute the value."""
        along = max(self.scan.i[1], self.scan.j[1]) if self.scan else 1
        return along * prod(n for _, n in (*self.left, *self.reduced))

    def expressions(self) -> list[Expr]:
        """The value, what is stored, and where."""
        return [self.value, self.store, *([self.final] if self.final is not None else [])]

    def loads(self) -> list[Load]:
        """Every load of the value and of the epilogue."""
        exprs = [self.value, *([self.final] if self.final is not None else [])]
        return [n for e in exprs for n in walk(e) if isinstance(n, Load) and n.tensor != ACCUMULATOR]
