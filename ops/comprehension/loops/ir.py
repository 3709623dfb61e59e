"""A lowered nest: flat addresses and plain loops, as schedules and emitters of generated code read it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod

from ..expr.ir import Expr, Load, box_of, walk

ACCUMULATOR = "@acc"
"""What an epilogue reads the finished reduction as."""


@dataclass(frozen=True)
class Loops:
    """A lowered nest.

    Attributes:
        target: the version that is written.
        store: where, as a load of the target.
        left: axes that the store uses, outermost first, with their extents.
        reduced: the other axes.
        op, init: as in `Nest`.
        base: the version whose contents come first.
        covers: whether every element of the target is written.
        value: what each iteration gives, with `Load` for accesses.
        final: what is stored, reading the reduction as a load of `@acc`; None where it is the reduction itself.
        scatter: the axes of the left side along which two iterations may write the same element.
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

    @property
    def extents(self) -> dict[str, int]:
        """Extent by axis."""
        return dict((*self.left, *self.reduced))

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

    @property
    def iterations(self) -> int:
        """How often the value is computed."""
        return prod(self.extents.values())

    def expressions(self) -> list[Expr]:
        """The value, what is stored, and where."""
        return [self.value, self.store, *([self.final] if self.final is not None else [])]

    def loads(self) -> list[Load]:
        """Every load of the value and of the epilogue."""
        exprs = [self.value, *([self.final] if self.final is not None else [])]
        return [n for e in exprs for n in walk(e) if isinstance(n, Load) and n.tensor != ACCUMULATOR]
