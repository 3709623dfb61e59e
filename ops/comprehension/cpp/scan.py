"""Running totals over one tile: one pass along the scanned axis, which stores the total at each place it reaches.

Several rows, or a vector of neighbouring columns, run side by side, since each step waits for the one before it.
"""

from __future__ import annotations

from collections.abc import Callable

from ..expr.dtypes import FLOAT32, FLOAT64, DType
from ..loops.ir import Loops, Scan
from ..program.identity import identity
from .arithmetic import joined
from .tile import Tile
from .types import Point, Value
from .values import ValueEmitter


class ScanWriter:
    """Writes the running total of one nest.

    Args:
        tile: the tile of the nest.
        values: writes expressions; has the totals where they are stored.
        prefix: the prefix of names of locals.
    """

    def __init__(self, tile: Tile, values: ValueEmitter, prefix: str) -> None:
        assert tile.nest.scan is not None
        self._nest: Loops = tile.nest
        self._scan: Scan = tile.nest.scan
        self._values, self._prefix, self._has_lanes = values, prefix, bool(tile.axis)
        dtype = tile.nest.value.dtype
        # As torch has it: of many floats, a running total in their own type is off by as many roundings.
        self._dtype: DType = FLOAT64 if dtype == FLOAT32 and tile.nest.op in ("+", "*") else dtype

    def lines(self, points: list[Point], stores: Callable[[list[Point]], list[str]]) -> list[str]:
        """All lines for a tile of these points.

        Args:
            points: the points of the tile.
            stores: returns the lines that store the totals of `values.accumulators`.
        """
        totals = {p: f"{self._prefix}a{number}" for number, p in enumerate(points)}
        start = identity(self._nest.op, self._dtype)
        lines = []
        for p, total in totals.items():
            initial = self._values.value(start, p)
            lines.append(f"auto {total} = {(self._values.spread(initial) if self._has_lanes else initial).code};")
        return [*lines, *self._before(totals), *self._along(totals, stores)]

    def _before(self, totals: dict[Point, str]) -> list[str]:
        """The lines that add the values in front of the first stored place."""
        scan, (j, m) = self._scan, self._scan.j
        first = max(scan.i[1] + scan.offset, 0) if scan.suffix else 0
        count = m - first if scan.suffix else min(max(scan.offset, 0), m)
        if count <= 0:
            return []
        step = f"{m - 1} - step" if scan.suffix else "step"
        head = f"for (int64_t step = 0; step < {count}; step++) {{ const int64_t x_{j} = {step};"
        return [head, *self._added(totals), "}"]

    def _along(self, totals: dict[Point, str], stores: Callable[[list[Point]], list[str]]) -> list[str]:
        """For each place the lines that add its value, if it has one, and store the total."""
        scan, (i, n), (j, m) = self._scan, self._scan.i, self._scan.j
        place = f"{n - 1} - step" if scan.suffix else "step"
        tests = [f"x_{j} >= 0"] if scan.offset < 0 else []
        tests += [f"x_{j} < {m}"] if n - 1 + scan.offset >= m else []
        lines = [
            f"for (int64_t step = 0; step < {n}; step++) {{",
            f"const int64_t x_{i} = {place}, x_{j} = x_{i} + {scan.offset};",
            f"if ({' && '.join(tests)}) {{" if tests else "{",
            *self._added(totals),
            "}",
        ]
        self._values.fresh()
        value = self._nest.value.dtype
        for p, total in totals.items():
            v = self._values.cast(Value(total, self._dtype, self._has_lanes), value)
            self._values.accumulators[p] = Value(self._values.name(v.code), value, v.vector)
        return [*lines, *self._values.take(), *stores(list(totals)), "}"]

    def _added(self, totals: dict[Point, str]) -> list[str]:
        """The lines of one step of every total."""
        self._values.fresh()
        for p, total in totals.items():
            v = self._values.value(self._nest.value, p)
            v = self._values.cast(self._values.spread(v) if self._has_lanes else v, self._dtype)
            self._values.lines.append(
                f"{total} = {joined(self._nest.op, total, v.code, self._dtype, self._has_lanes)};"
            )
        return self._values.take()
