"""Writes the reduction over one tile: accumulators in registers, the reduced loops, and one value for each place.

Rows whose addresses are read from a tensor are asked for some steps ahead, as no prefetcher can guess them; so is the
beginning of the next row where a row fills pages, as processors prefetch within a page only.
"""

from __future__ import annotations

from dataclasses import replace

from ..expr.ir import Expr, Load, Op, walk
from ..program.identity import identity
from .arithmetic import joined
from .tile import Tile
from .types import Point, Value, clamped, compute_type
from .values import ValueEmitter

AHEAD = 16
"""Steps between the prefetch of a row and its use."""
LINE = 64
LONG_ROW = 2048
"""The bytes of a row from which on a prefetch of its beginning pays."""
FIRST_LINES = 2


class Reduction:
    """Writes the reduction of one nest.

    Args:
        tile: the tile of the nest.
        values: writes expressions; takes the finished accumulators.
        value: the expression that is reduced.
        prefix: the prefix of names of locals.
    """

    def __init__(self, tile: Tile, values: ValueEmitter, value: Expr, prefix: str) -> None:
        self._tile, self._nest, self._values = tile, tile.nest, values
        self._value, self._prefix = value, prefix
        self._dtype = tile.nest.value.dtype

    def lines(self, points: list[Point]) -> list[str]:
        """All lines for a tile of these points; then `values.accumulators` holds one value for each place."""
        start, lines, locals_ = identity(self._nest.op, self._dtype), [], {}
        for number, p in enumerate(points):
            initial = self._values.value(start, p)
            locals_[p] = f"{self._prefix}a{number}"
            lines.append(f"auto {locals_[p]} = {(self._values.spread(initial) if self._tile.axis else initial).code};")
        lines += [*self._next_rows(points), *self._loops(points, locals_)]
        self._values.fresh()
        return [*lines, *self._finished(points, locals_)]

    # -- loops -----------------------------------------------------------------------------------------

    def _loops(self, points: list[Point], locals_: dict[Point, str]) -> list[str]:
        """The loops over reduced axes around the accumulation; the vector axis last, if it is one of them."""
        axis, reduced = self._tile.axis, self._tile.reduced
        opened = [f"for (int64_t x_{a} = 0; x_{a} < {n}; x_{a}++) {{" for a, n in reduced.items() if a != axis]
        inside = self._vector_loop if axis in reduced else self._accumulate
        return [*opened, *inside(points, locals_), *("}" for _ in opened)]

    def _vector_loop(self, points: list[Point], locals_: dict[Point, str]) -> list[str]:
        tile, axis = self._tile, self._tile.axis or ""
        extent, step = tile.reduced[axis], tile.vectors * tile.lanes
        lines: list[str] = []
        if extent >= step:
            lines += [f"for (int64_t x_{axis} = 0; x_{axis} < {extent - extent % step}; x_{axis} += {step}) {{"]
            lines += [*self._accumulate(points, locals_), "}"]
        if extent % step:
            rest = dict(tile.parts(extent % step))
            some = {replace(p, lanes=rest[p.vector]): locals_[p] for p in points if p.vector in rest}
            lines += [f"{{ const int64_t x_{axis} = {extent - extent % step};"]
            lines += [*self._accumulate(list(some), some), "}"]
        return lines

    def _accumulate(self, points: list[Point], locals_: dict[Point, str]) -> list[str]:
        values, tile = self._values, self._tile
        values.fresh()
        whole = tile.axis in tile.free
        for p in points:
            sum_, condition = locals_[p], None
            if whole and self._skips():
                condition, v = values.guarded(self._value, p)
            else:
                v = values.value(self._value, p)
            if tile.axis:
                v = values.spread(v)
            if tile.axis in tile.reduced and p.lanes < tile.lanes:
                v = self._neutral_behind(v, p)
            joined = self._combined(sum_, v.code, bool(tile.axis))
            values.lines.append(f"{sum_} = {f'{condition} ? {joined} : {sum_}' if condition else joined};")
        return [*self._asked_ahead(points), *values.take()]

    def _skips(self) -> bool:
        """Whether the value is the operator's identity wherever a condition fails, so that nothing need be added."""
        e = self._value
        return isinstance(e, Op) and e.name == "?:" and e.args[2] == identity(self._nest.op, self._dtype)

    def _next_rows(self, points: list[Point]) -> list[str]:
        """Prefetches of the first lines of the rows that come next; an address past the end does no harm."""
        tile, lines = self._tile, []
        around = [*(a for a, _ in tile.nest.left[: tile.fixed]), *tile.order]
        for load in dict.fromkeys(n for n in walk(self._value) if isinstance(n, Load)):
            size = load.dtype.bits // 8
            plain = not load.dynamic and not load.guarded and load.stride(tile.axis or "") == 1
            if not plain or [a for a in tile.reduced if load.stride(a)] != [tile.axis]:
                continue
            moving = [a for a in around if load.stride(a)]
            if not moving or tile.reduced[tile.axis or ""] * size < LONG_ROW:
                continue
            step = load.stride(moving[-1]) * (tile.size(moving[-1]) if moving[-1] in tile.free else 1)
            row = replace(load, strides=tuple((a, s) for a, s in load.strides if a != tile.axis))
            for p in [p for p in points if p.vector == 0]:
                first = f"{self._values.pointer(load)} + {self._values.address(row, p)} + {step}"
                lines += [f"__builtin_prefetch({first} + {n * LINE // size});" for n in range(FIRST_LINES)]
        return lines

    def _asked_ahead(self, points: list[Point]) -> list[str]:
        """Prefetches of the rows that later steps of the innermost loop gather; the last index stands in behind."""
        loops = [a for a in self._tile.reduced if a != self._tile.axis]
        lines = []
        for load in dict.fromkeys(n for n in walk(self._value) if isinstance(n, Load)):
            index = load.dynamic[0].index if len(load.dynamic) == 1 else None
            if not loops or not isinstance(index, Load) or index.dynamic or index.guarded:
                continue
            if index.stride(loops[-1]) <= 0 or index.stride(self._tile.axis or ""):
                continue
            last = index.offset + sum(s * (self._nest.extents[v] - 1) for v, s in index.strides if s > 0)
            for p in [p for p in points if p.vector == 0]:
                ahead = f"{self._values.address(index, p)} + {AHEAD * index.stride(loops[-1])}"
                read = f"({self._values.pointer(index)})[{ahead} < {last} ? {ahead} : {last}]"
                row = f"{self._values.address(load, p)} + (int64_t){read} * {load.dynamic[0].step}"
                lines.append(f"__builtin_prefetch({self._values.pointer(load)} + {row});")
        return lines

    def _neutral_behind(self, v: Value, p: Point) -> Value:
        """The value, with the operator's identity in lanes beyond the end of the axis."""
        kept = self._values.spread(self._values.value(identity(self._nest.op, self._dtype), p)).code
        inside = f"iota<{self._lanes}>(0) < (Vec<{self._lanes}>{{}} + {p.lanes})"
        return Value(f"(({inside}) ? {v.code} : {kept})", v.dtype, True)

    @property
    def _lanes(self) -> str:
        """Template arguments of integers as wide as the values."""
        return f"int{32 if self._dtype.is_half else self._dtype.bits}_t, {self._tile.lanes}"

    def _combined(self, a: str, b: str, vector: bool) -> str:
        return joined(self._nest.op, a, b, self._dtype, vector)

    # -- afterwards ------------------------------------------------------------------------------------

    def _finished(self, points: list[Point], locals_: dict[Point, str]) -> list[str]:
        """Reduces the accumulators to one value for each place: vectors of a reduced axis across their lanes."""
        values, vector = self._values, bool(self._tile.axis)
        if self._tile.axis not in self._tile.reduced:
            found = {p: Value(locals_[p], self._dtype, vector) for p in points}
            values.accumulators = {p: self._with_base(v, p) for p, v in found.items()}
            return values.take()
        by_place: dict[tuple[tuple[str, int], ...], list[str]] = {}
        for p in points:
            by_place.setdefault(p.offsets, []).append(locals_[p])
        lines, found = [], {}
        for number, (offsets, vectors) in enumerate(by_place.items()):
            local = f"{self._prefix}s{number}"
            lines += self._joined_pairs(vectors) + self._folded(vectors[0])
            lines.append(f"{compute_type(self._dtype)} {local} = {vectors[0]}[0];")
            found[Point(offsets, 0, self._tile.lanes)] = Value(local, self._dtype, False)
        values.accumulators = {p: self._with_base(v, p) for p, v in found.items()}
        return lines + values.take()

    def _joined_pairs(self, vectors: list[str]) -> list[str]:
        """Combines all vectors into the first, in halves, so that few operations wait for others."""
        lines, left = [], list(vectors)
        while len(left) > 1:
            half = (len(left) + 1) // 2
            lines += [f"{a} = {self._combined(a, b, True)};" for a, b in zip(left, left[half:], strict=False)]
            left = left[:half]
        return lines

    def _folded(self, local: str) -> list[str]:
        """Reduces a vector onto each of its lanes, by halves."""
        steps = [1 << k for k in reversed(range(self._tile.lanes.bit_length() - 1))]
        halves = [f"__builtin_shuffle({local}, iota<{self._lanes}>(0) ^ {step})" for step in steps]
        return [f"{local} = {self._combined(local, half, True)};" for half in halves]

    def _with_base(self, v: Value, p: Point) -> Value:
        """Joins a reduction with the contents before, where they count."""
        nest = self._nest
        if not nest.scatter and (nest.init or not nest.base):
            return v
        source = nest.base if nest.covers and nest.base else nest.target
        before = self._values.value(replace(clamped(nest.store), tensor=source), p)
        if v.vector:
            before = self._values.spread(before)
        return Value(self._values.name(self._combined(before.code, v.code, v.vector)), v.dtype, v.vector)
