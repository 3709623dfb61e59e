"""What the cost model asks of a load again and again, for thousands of schedules of one nest."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from ..expr.ir import Load, variables

LINE = 64
"""Bytes of a cache line."""


class LoadFacts:
    """A load of a nest.

    Args:
        load: the load.
        extents: the sizes of the nest's axes.

    Attributes:
        strides: of each axis, in elements; 0 of an axis that is not in the address.
        indices: the axes of the indices that are read.
        used: the axes that the address depends on.
        size: of an element, in bytes.
        whole: whether it depends on every axis of the nest.
        packs: whether the emitter would copy it: it reads every element about once.
    """

    def __init__(self, load: Load, extents: Mapping[str, int]) -> None:
        self.offset, self.guarded, self.dynamic = load.offset, load.guarded, bool(load.dynamic)
        strides = dict(load.strides)
        self.indices = frozenset(v for d in load.dynamic for v in variables(d.index))
        self.used = frozenset(strides) | self.indices
        self.strides = {a: strides.get(a, 0) for a in (*extents, *strides)}
        self.size = load.dtype.bits // 8
        self.whole = self.used >= set(extents)
        span = load.offset + sum(abs(n) * (extents[a] - 1) for a, n in strides.items()) + 1
        once = prod(extents[a] for a in strides) <= 2 * span
        self.packs = not load.dynamic and not load.guarded and len(strides) > 1 and once
        # Neighbours along these axes lie in different cache lines; where an index is read, they may lie anywhere.
        self.apart = frozenset(a for a, n in self.strides.items() if not n or abs(n) * self.size >= LINE)
