"""One lowered nest as C++ loops, by its schedule: tiles of registers over left axes, then the reduced loops.

All extents are literals, so the compiler sees them.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...kernels.cpu import Target
from ..expr.ir import Expr
from ..loops.description import Schedule
from ..loops.ir import Loops
from ..loops.winograd import match
from .packing import Packing
from .reduction import Reduction
from .scan import ScanWriter
from .tile import Tile, widest
from .types import Names, Point, Value, clamped, memory_type
from .values import ValueEmitter


def emit_nest(nest: Loops, schedule: Schedule, names: Names, target: Target, fixed: int, prefix: str) -> list[str]:
    """The lines of a nest.

    Args:
        nest: the nest to write.
        schedule: the schedule of the nest.
        names: shared with the whole program.
        target: the instruction set.
        fixed: the number of first left axes whose loops are already written around these lines.
        prefix: for names of locals that must differ between nests.
    """
    if schedule.winograd and not fixed and (convolution := match(nest)) is not None:
        return [
            convolution.call(target, names.pointers, nest.store.tensor, schedule.threads if schedule.parallel else 1)
        ]
    return _NestEmitter(nest, Tile(nest, schedule, target, fixed), names, prefix).lines()


class _NestEmitter:
    """Writes one nest."""

    def __init__(self, nest: Loops, tile: Tile, names: Names, prefix: str) -> None:
        self._nest, self._tile, self._names, self._prefix = nest, tile, names, prefix
        packs = tile.schedule.pack and not tile.fixed and tile.axis in tile.free
        self._packing = Packing(tile, names, prefix) if packs else None
        self._values = ValueEmitter(tile.lanes, widest(nest), tile.axis, names)

    def lines(self) -> list[str]:
        """All lines: the contents before, the packing, and the loops."""
        head = self._contents() + (self._packing.lines() if self._packing else [])
        body: list[str] = []
        for test, sizes in self._tile.variants():
            body += [f"if ({test}) {{" if test else "{", *self._body(sizes), "}"]
        return [*head, *self._tile.loops(), *body, *("}" for _ in self._tile.order)]

    def _contents(self) -> list[str]:
        """Writes the contents that the target must have before the loops."""
        nest = self._nest
        if nest.covers:
            return []
        to = self._names.pointers[nest.target]
        size = f"n_{to}"
        if nest.base:
            return [f"memcpy((void*){to}, (const void*){self._names.pointers[nest.base]}, {size});"]
        return [f"memset((void*){to}, 0, {size});"]

    def _body(self, sizes: Mapping[str, int]) -> list[str]:
        """The lines of one tile."""
        points, values = self._tile.points(sizes), self._values
        values.fresh()
        values.accumulators = {}
        if self._nest.scan is not None:
            return ScanWriter(self._tile, values, self._prefix).lines(points, self._stores)
        value = self._packed(self._nest.value)
        if self._nest.op != "=":
            lines = Reduction(self._tile, values, value, self._prefix).lines(points)
            return [*lines, *self._stores(list(values.accumulators))]
        for p in points:
            values.accumulators[p] = values.value(value, p)
        return [*values.take(), *self._stores(points)]

    def _packed(self, e: Expr) -> Expr:
        return self._packing.replaced(e) if self._packing else e

    # -- stores ----------------------------------------------------------------------------------------

    def _stores(self, points: list[Point]) -> list[str]:
        values, nest = self._values, self._nest
        for p in points:
            v = values.accumulators[p]
            if nest.final is not None:
                v = values.value(self._packed(nest.final), p)
            self._store(values.cast(v, nest.store.dtype), p)
        return values.take()

    def _store(self, v: Value, p: Point) -> None:
        values = self._values
        load = clamped(self._nest.store) if self._names.clamp else self._nest.store
        address, tests = values.address(load, p), []
        for d in load.dynamic:
            index = values.value(d.index, p).code
            address += f" + (int64_t)({index}) * {d.step}"
            if d.checked:
                tests.append(f"(uint64_t)(int64_t)({index}) < {d.size}ull")
        pointer, memory = f"{self._names.pointers[load.tensor]} + ({address})", memory_type(load.dtype)
        step = load.stride(self._tile.axis) if self._tile.axis else 0
        if step == 0:
            code = f"*({pointer}) = ({memory})({v.code});"
        else:
            v = values.spread(v)
            lanes = f"<{memory}, {values.vec(load.dtype)}>"
            code = f"{v.code} & 1" if load.dtype.is_bool else v.code
            if step != 1:
                code = f"store_strided{lanes}({pointer}, {step}, {p.lanes}, {code});"
            elif p.lanes < self._tile.lanes:
                code = f"store_first{lanes}({pointer}, {p.lanes}, {code});"
            else:
                code = f"store{lanes}({pointer}, {code});"
        values.lines.append(f"if ({' && '.join(tests)}) {code}" if tests else code)
