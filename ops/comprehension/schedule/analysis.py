"""Schedules chosen by analysis alone: `Cost` rates every way to tile a nest's registers, and the cheapest wins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil

import torch

from ...kernels.cpu import Target
from ..cpp.tile import lanes_of
from ..expr.ir import Program
from ..loops.description import ProgramSchedule, Schedule
from ..loops.fusion import groups
from ..loops.ir import Loops
from ..loops.winograd import match
from .cost_model import Cost

_VECTORS = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16)
_AT_ONCE = 8
"""Vectors of a nest without a reduction: more only make the end of an axis slower."""
_ROWS = 4
"""Running totals side by side, as many as a processor adds while one addition takes its time."""
_UNROLLS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14)
_PAIRS = ((2, 2), (4, 2), (2, 4), (3, 2), (2, 3), (3, 4), (4, 3), (4, 4))


@dataclass(frozen=True)
class Rated:
    """A schedule of one nest and its cost in cycles of the model."""

    cost: float
    schedule: Schedule


def default_schedule(program: Program, target: Target, fuse: bool = True) -> ProgramSchedule:
    """The schedule that the model likes best."""
    chosen = [rated(n, target, len(g.shared))[0].schedule for g in groups(program, fuse) for n in g.nests]
    return ProgramSchedule(tuple(chosen), fuse)


def naive_schedule(program: Program) -> ProgramSchedule:
    """One value at a time, on one thread, nest by nest."""
    count = sum(len(g.nests) for g in groups(program, False))
    return ProgramSchedule((Schedule(parallel=False),) * count, False)


def rated(nest: Loops, target: Target, fixed: int) -> list[Rated]:
    """Schedules of a nest, the cheapest first."""
    if nest.scan is not None:
        return [Rated(float(nest.iterations), _side_by_side(nest, target))]
    cost = Cost(nest, lanes_of(nest, target), target, fixed, torch.get_num_threads())
    found = [Rated(cost.cycles(s), s) for s in _candidates(nest, cost, target, fixed)]
    found.sort(key=lambda r: r.cost)
    if not fixed and (convolution := match(nest)) is not None:
        found.append(Rated(convolution.cycles(target), replace(found[0].schedule, winograd=True)))
        found.sort(key=lambda r: r.cost)
    return found


def _side_by_side(nest: Loops, target: Target) -> Schedule:
    """How a running total runs: over vectors of neighbouring columns, else over several rows at once."""
    free, lanes = dict(nest.left), lanes_of(nest, target)
    for axis, extent in free.items():
        neighbours = all(x.stride(axis) in (0, 1) and not x.dynamic for x in nest.loads())
        if nest.store.stride(axis) == 1 and neighbours and extent >= lanes // 2:
            return Schedule(axis, min(_AT_ONCE // 2, ceil(extent / lanes)))
    rows = [a for a, n in free.items() if n >= _ROWS and a not in nest.scatter]
    return Schedule(unroll=((rows[-1], _ROWS),)) if rows else Schedule()


def _candidates(nest: Loops, cost: Cost, target: Target, fixed: int) -> Iterator[Schedule]:
    """Every vector axis with every tile that the registers hold, with whole and with half vectors."""
    free, lanes = dict(nest.left[fixed:]), lanes_of(nest, target)
    for axis in [*free, *dict(nest.reduced), None]:
        if axis in nest.scatter:
            continue
        packs = (False, True) if cost.wants_packing(axis) else (False,)
        for width in (lanes, lanes // 2) if axis and lanes >= 4 else (lanes,):
            most = ceil(nest.extents[axis] / width) if axis else 1
            for vectors in [n for n in _VECTORS if n <= (most if nest.reduced else min(most, _AT_ONCE))]:
                for unroll in _unrolls(nest, free, axis, target.registers // vectors):
                    order = _order(nest, free, axis, unroll)
                    for pack in packs:
                        yield Schedule(axis, vectors, unroll, order, pack, lanes=width % lanes)


def _order(nest: Loops, free: dict[str, int], axis: str | None, unroll: tuple[tuple[str, int], ...]) -> tuple[str, ...]:
    """Untiled axes outermost, then what the largest operand depends on, so that it stays in the cache."""
    tiled = [a for a in free if a == axis or a in dict(unroll)]
    if not nest.reduced or len(tiled) < 2:
        return ()
    return tuple([a for a in free if a not in tiled] + sorted(tiled, key=lambda a: a != axis))


def _unrolls(nest: Loops, free: dict[str, int], axis: str | None, room: int) -> Iterator[tuple[tuple[str, int], ...]]:
    """Numbers of values of one or two further axes that are computed at once."""
    yield ()
    if not nest.reduced:
        return
    names = [a for a in free if a != axis and a not in nest.scatter]
    for a in names:
        for n in _UNROLLS:
            if n <= min(free[a], room):
                yield ((a, n),)
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            for n, m in _PAIRS:
                if n <= free[a] and m <= free[b] and n * m <= room:
                    yield ((a, n), (b, m))
