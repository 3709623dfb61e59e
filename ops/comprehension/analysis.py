"""Schedules chosen by analysis alone: a cost for each way to tile a nest's registers, and the cheapest wins.

The model counts, for one step of the innermost reduced loop over a tile, the multiply-adds and the loads that the
tile needs, and takes the larger; lanes that are computed and thrown away, strided accesses and the work at a
tile's end are added. It knows registers and vector width, and no caches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, prod

from .cpp_nest import Target, lanes_of
from .dtypes import DType
from .fusion import groups
from .ir import Access, Expr, Load, Nest, Op, Program, variables
from .lower import Loops
from .schedule import ProgramSchedule, Schedule

_UNROLLS = (1, 2, 3, 4, 5, 6, 8, 12)


@dataclass(frozen=True)
class Rated:
    """A schedule of one nest and its cost a value, in vector operations a lane."""

    cost: float
    schedule: Schedule


def default_schedule(program: Program, target: Target, fuse: bool = True) -> ProgramSchedule:
    """The schedule that the model likes best."""
    types = {n: t.dtype for n, t in program.tensors.items()}
    chosen = [rated(n, types, target, len(g.shared))[0].schedule for g in groups(program, fuse) for n in g.nests]
    return ProgramSchedule(tuple(chosen), fuse)


def naive_schedule(program: Program) -> ProgramSchedule:
    """One value at a time, on one thread, nest by nest."""
    count = sum(len(g.nests) for g in groups(program, False))
    return ProgramSchedule((Schedule(parallel=False),) * count, False)


def rated(nest: Loops, types: dict[str, DType], target: Target, fixed: int) -> list[Rated]:
    """Schedules of a nest, the cheapest first."""
    model = _Model(nest, lanes_of(nest, target), target, fixed)
    found = [Rated(model.cost(s), s) for s in model.candidates()]
    return sorted(found, key=lambda r: r.cost)


class _Model:
    """The cost of schedules of one nest."""

    def __init__(self, nest: Loops, lanes: int, target: Target, fixed: int) -> None:
        self._nest, self._lanes, self._target = nest, lanes, target
        self._free = dict(nest.left[fixed:])
        self._reduced = dict(nest.reduced)
        self._loads = list(dict.fromkeys(nest.loads()))
        self._steps = prod(self._reduced.values())

    def candidates(self) -> Iterator[Schedule]:
        """Every vector axis with every tile that the registers hold."""
        for axis in [*self._free, *self._reduced, None]:
            if axis in self._nest.scatter:
                continue
            for vectors in (1, 2, 3, 4, 6, 8) if axis else (1,):
                for unroll in self._unrolls(axis, vectors):
                    pack = self._wants_pack(axis)
                    yield Schedule(axis, vectors, unroll, self._order(axis, unroll), pack)

    def _order(self, axis: str | None, unroll: tuple[tuple[str, int], ...]) -> tuple[str, ...]:
        """Untiled axes outermost, then what the largest operand depends on, so that it stays in the cache."""
        tiled = [a for a in self._free if a == axis or a in dict(unroll)]
        if not self._reduced or len(tiled) < 2:
            return ()
        return tuple([a for a in self._free if a not in tiled] + sorted(tiled, key=lambda a: a != axis))

    def _unrolls(self, axis: str | None, vectors: int) -> Iterator[tuple[tuple[str, int], ...]]:
        yield ()
        names = [a for a in self._free if a != axis and a not in self._nest.scatter]
        if not self._reduced:
            return
        for a in names:
            for n in _UNROLLS[1:]:
                if n <= self._free[a] and n * vectors <= self._target.registers:
                    yield ((a, n),)
        for i, a in enumerate(names):
            for b in names[i + 1 :]:
                for n, m in ((2, 2), (4, 2), (2, 4), (3, 4), (4, 3), (4, 4)):
                    if n <= self._free[a] and m <= self._free[b] and n * m * vectors <= self._target.registers:
                        yield ((a, n), (b, m))

    def _wants_pack(self, axis: str | None) -> bool:
        if axis not in self._free or not self._reduced or self._steps < 16:
            return False
        reuse = prod(self._free.values()) // self._free[axis or ""]
        return reuse >= 64 and any(
            load.stride(axis or "") not in (0,) and self._packs(load) and self._far(load, axis or "")
            for load in self._loads
        )

    def _far(self, load: Load, axis: str) -> bool:
        """Lanes that are not neighbours, or reduced steps that are a page's large part apart."""
        return load.stride(axis) != 1 or any(load.stride(r) >= 256 and n >= 64 for r, n in self._reduced.items())

    def _packs(self, load: Load) -> bool:
        used = [v for v, _ in load.strides]
        span = load.offset + sum(abs(s) * (self._nest.extents[v] - 1) for v, s in load.strides) + 1
        return not load.dynamic and not load.guarded and prod(self._nest.extents[v] for v in used) <= 2 * span

    def cost(self, s: Schedule) -> float:
        """Vector operations for each value that is wanted."""
        lanes = self._lanes if s.vector else 1
        unroll = dict(s.unroll)
        places = prod(unroll.values())
        extent = self._nest.extents.get(s.vector or "", 1)
        vectors = min(s.vectors, ceil(extent / lanes))
        tile = vectors * places
        work, load_cost, held = self._tile_costs(s, vectors, unroll)
        if tile + held > self._target.registers:
            return float("inf")
        waiting = 8.0 if self._reduced else 0.0
        step = max(tile * work, load_cost, waiting) + 0.1 * load_cost
        # Each further row that vectors are loaded from is a stream more for the prefetcher, and pages more.
        step *= 1.0 + (0.03 if len(self._loads) > 1 else 0.15) * (self._streams(s, unroll) - 1)
        # Beyond half of the registers compilers start to spill: measured on convolutions, 16 of 32 beat 24.
        if tile > self._target.registers * 0.6:
            step *= 1.15
        waste = ceil(extent / lanes) * lanes / extent if s.vector else 1.0
        for axis, n in unroll.items():
            waste *= ceil(self._free[axis] / n) * n / self._free[axis] * 0.5 + 0.5
        end = self._end_cost(s, tile, lanes) / self._steps
        return (step + end + 1.0) * waste / (tile * lanes)

    def _tile_costs(self, s: Schedule, vectors: int, unroll: dict[str, int]) -> tuple[float, float, int]:
        """Arithmetic a value, the cost of loads a step, and vectors held beside the accumulators."""
        total, held = 0.0, 1
        for load in self._loads:
            used = {v for v, _ in load.strides} | {v for d in load.dynamic for v in variables(d.index)}
            count = prod(n for a, n in unroll.items() if a in used)
            if s.vector in used:
                count *= vectors
                total += count * self._lane_cost(load, s)
                held = max(held, vectors)
            else:
                total += count
        return 1.0, total, held

    def _streams(self, s: Schedule, unroll: dict[str, int]) -> int:
        """Rows that the vectors of one step come from."""
        rows = [prod(unroll.get(v, 1) for v, _ in load.strides) for load in self._loads if load.stride(s.vector or "")]
        return max(rows, default=1)

    def _lane_cost(self, load: Load, s: Schedule) -> float:
        step = load.stride(s.vector or "")
        dynamic = any(s.vector in variables(d.index) for d in load.dynamic)
        if dynamic or (step != 1 and not (s.pack and self._packs(load))):
            return 2.0 * self._lanes
        return 1.5 if load.guarded else 1.0

    def _end_cost(self, s: Schedule, tile: int, lanes: int) -> float:
        """Storing a tile, and reducing across lanes."""
        if s.vector in self._reduced:
            return tile * 12.0
        if s.vector is None or self._nest.store.stride(s.vector) == 1:
            return float(tile)
        return tile * lanes * 1.0


def prefers_torch(program: Program) -> bool:
    """Whether torch's libraries are the better bet: one or more large products, and nothing much around them.

    Measured here: matrix products and convolutions with deep reductions run within a tenth of torch's own,
    either way, so what has been optimised for longer is the safer choice; shallow ones run up to four times faster
    as generated code.
    """
    deep = other = 0
    for nest in program.nests:
        work = prod(n for _, n in nest.axes)
        if _is_deep_product(nest):
            deep += work
        else:
            other += work
    return deep >= 1 << 20 and deep >= 64 * other


def _is_deep_product(nest: Nest) -> bool:
    factors = split_operands(nest.value)
    depth = prod(nest.extents[a] for a in nest.reduced)
    floats = all(f.dtype.is_float and all(g == "inside" for g in f.guards) for f in factors)
    return nest.op == "+" and len(factors) == 2 and floats and depth >= 64


def split_operands(value: Expr) -> list[Access]:
    """The two accesses of a plain product, else nothing."""
    if isinstance(value, Op) and value.name == "*" and all(isinstance(a, Access) for a in value.args):
        return [a for a in value.args if isinstance(a, Access)]
    return []
