"""The register tile of one nest: the values that are computed at once, and the loops over tiles.

Every left axis steps over tiles. Where its extent is no multiple of the tile, a second body with fewer unrolled values,
or with a last vector of fewer lanes, handles the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from math import ceil

from ...kernels.cpu import Target
from ..loops.description import Schedule
from ..loops.ir import Loops
from .types import Point, lane_type

PARALLEL_WORK = 1 << 15
"""Iterations below which starting threads costs more than it gains."""


def widest(nest: Loops) -> int:
    """Bytes of the widest values of a nest, which decide how many lanes a vector has."""
    return max(lane_type(nest.value.dtype), lane_type(nest.store.dtype))


def lanes_of(nest: Loops, target: Target) -> int:
    """Lanes of a nest's widest vectors."""
    return max(2, target.vector_bytes // widest(nest))


class Tile:
    """The shape of a nest's tile.

    Args:
        nest: the nest.
        schedule: the schedule of the nest.
        target: the instruction set.
        fixed: the number of first left axes whose loops are already around the nest.
    """

    def __init__(self, nest: Loops, schedule: Schedule, target: Target, fixed: int) -> None:
        self.nest, self.schedule, self.fixed = nest, schedule, fixed
        self.free, self.reduced = dict(nest.left[fixed:]), dict(nest.reduced)
        self.axis = schedule.vector if schedule.vector in {**self.free, **self.reduced} else None
        self.lanes = (schedule.lanes or lanes_of(nest, target)) if self.axis else 1
        self.vectors = schedule.vectors if self.axis else 1
        self._unroll = {a: n for a, n in schedule.unroll if a in self.free and a != self.axis and n > 1}
        names = [a for a in schedule.order if a in self.free]
        names += [a for a in self.free if a not in names]
        shared = [a for a in names if a not in nest.scatter]
        self.order = shared + [a for a in names if a in nest.scatter]
        """The free left axes from outside: those that may be shared among threads first."""
        self.shareable = len(shared)

    def size(self, axis: str) -> int:
        """Values of a free axis that are computed at once."""
        if axis == self.axis:
            return min(self.vectors, ceil(self.free[axis] / self.lanes)) * self.lanes
        return self._unroll.get(axis, 1)

    def loops(self) -> list[str]:
        """The heads of the loops over tiles, from outside, and how threads share them."""
        heads = [f"for (int64_t x_{a} = 0; x_{a} < {self.free[a]}; x_{a} += {self.size(a)}) {{" for a in self.order]
        return [*self._pragma(), *heads]

    def _pragma(self) -> list[str]:
        s = self.schedule
        if self.fixed or not self.shareable or not s.parallel or self.nest.iterations < PARALLEL_WORK:
            return []
        count, tiles = 0, 1
        while count < self.shareable and tiles < 64:
            tiles *= ceil(self.free[self.order[count]] / self.size(self.order[count]))
            count += 1
        limit = f" num_threads(at_most({s.threads}))" if s.threads else ""
        return [f"#pragma omp parallel for collapse({count}) schedule(static){limit}"]

    def variants(self) -> Iterator[tuple[str, dict[str, int]]]:
        """A test of the position, empty where it always holds, and the sizes of the tile there."""
        choices = []
        for axis in [a for a in self.order if self.size(a) > 1]:
            extent, size = self.free[axis], self.size(axis)
            counts = ([size] if extent >= size else []) + ([extent % size] if extent % size else [])
            choices.append([(axis, n) for n in counts])
        for combination in product(*choices):
            tests = [
                f"x_{a} {'<=' if n == self.size(a) else '>'} {self.free[a] - self.size(a)}"
                for a, n in combination
                if self.free[a] % self.size(a) and self.free[a] >= self.size(a)
            ]
            yield " && ".join(tests), dict(combination)

    def points(self, sizes: Mapping[str, int]) -> list[Point]:
        """The points of a tile of these sizes; the last vector may have fewer lanes."""
        vectors = [(0, 1)]
        if self.axis is not None and self.axis in self.free:
            vectors = list(self.parts(sizes.get(self.axis, self.free[self.axis])))
        elif self.axis:
            vectors = [(q, self.lanes) for q in range(self.vectors)]
        unrolled = [[(a, i) for i in range(n)] for a, n in sizes.items() if a != self.axis]
        return [Point(tuple(offsets), q, n) for offsets in product(*unrolled) for q, n in vectors]

    def parts(self, size: int) -> Iterator[tuple[int, int]]:
        """Numbers of the vectors that hold `size` values, with the lanes that count in each."""
        for q in range(ceil(size / self.lanes)):
            yield q, min(self.lanes, size - q * self.lanes)
