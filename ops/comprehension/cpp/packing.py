"""Copies of operands in the order in which a nest's tiles use them, made before its loops.

A copy has a row of lanes for each step of the reduced loops, tile after tile, with zeros behind the last lanes. Where
lanes are far apart and steps are neighbours, it is written in blocks, so that every line is read once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from math import ceil, prod

from ..expr.ir import Expr, Load, rebuild
from .tile import PARALLEL_WORK, Tile
from .types import Names, memory_type

AT_MOST = 8
"""The most operands of a nest that are packed, and the number of buffers of each thread."""
BLOCK = 16


class Packing:
    """The packed operands of one nest; makes their names known.

    Args:
        tile: the tile of the nest, whose vector axis is a left one.
        names: shared with the whole program.
        prefix: for the buffers' names.
    """

    def __init__(self, tile: Tile, names: Names, prefix: str) -> None:
        self._tile, self._names = tile, names
        self._axis = tile.axis or ""
        self._size = tile.size(self._axis)
        self._buffers = {load: f"{prefix}k{n}" for n, load in enumerate(islice(self._packable(), AT_MOST))}
        for load in self._buffers:
            self._name(load)

    def lines(self) -> list[str]:
        """The lines that copy the operands."""
        found: list[str] = []
        for number, (load, buffer) in enumerate(self._buffers.items()):
            kind, size = memory_type(load.dtype), self._elements(load)
            found.append(f"{kind}* __restrict {buffer} = ({kind}*)scratch({size} * sizeof({kind}), {number});")
            found += self._copy(load, buffer)
        return found

    def replaced(self, e: Expr) -> Expr:
        """The expression with loads of the copies."""
        if isinstance(e, Load) and e in self._buffers:
            return self._load(e)
        return rebuild(e, self.replaced)

    def _packable(self) -> Iterator[Load]:
        """Loads of plain addresses that use the vector axis, and each element of which is copied about once."""
        extents, sizes = self._tile.nest.extents, self._spans()
        for load in dict.fromkeys(self._tile.nest.loads()):
            used = [v for v, _ in load.strides]
            plain = not load.dynamic and not load.guarded and self._axis in used
            if plain and prod(extents[v] for v in used) <= 2 * sizes[load.tensor] and len(used) > 1:
                yield load

    def _spans(self) -> dict[str, int]:
        """For each tensor the number of elements that its loads can reach."""
        spans: dict[str, int] = {}
        for load in self._tile.nest.loads():
            span = load.offset + sum(abs(s) * (self._tile.nest.extents[v] - 1) for v, s in load.strides) + 1
            spans[load.tensor] = max(span, spans.get(load.tensor, 0))
        return spans

    def _layout(self, load: Load) -> list[tuple[str, int]]:
        """The copy's axes from outside, the vector axis's tiles after other left axes; extents in tiles."""
        left = [(a, self._tile.free[a]) for a in self._tile.order if load.stride(a) and a != self._axis]
        reduced = [(a, n) for a, n in self._tile.reduced.items() if load.stride(a)]
        return [*left, (self._axis, ceil(self._tile.free[self._axis] / self._size)), *reduced]

    def _elements(self, load: Load) -> int:
        return prod(n for _, n in self._layout(load)) * self._size

    def _strides(self, load: Load) -> dict[str, int]:
        """Elements from one index of each of the copy's axes to the next."""
        strides, step = {}, self._size
        for axis, n in reversed(self._layout(load)):
            strides[axis] = step
            step *= n
        return strides

    def _name(self, load: Load) -> None:
        """Names the buffer, and a pointer into it that has stepped over the tiles before: x_axis counts elements."""
        buffer, across = self._buffers[load], self._strides(load)[self._axis]
        self._names.types[buffer] = self._names.types[f"{buffer}_tile"] = load.dtype
        self._names.pointers[buffer] = buffer
        step = across - self._size
        self._names.pointers[f"{buffer}_tile"] = f"{buffer} + x_{self._axis} / {self._size} * {step}"

    def _load(self, load: Load) -> Load:
        strides = self._strides(load)
        across = strides.pop(self._axis)
        buffer = self._buffers[load] if across == self._size else f"{self._buffers[load]}_tile"
        return replace(load, tensor=buffer, strides=((self._axis, 1), *strides.items()), offset=0, place=None)

    def _copy(self, load: Load, buffer: str) -> list[str]:
        layout, axis, size = self._layout(load), self._axis, self._size
        names = {a: "tile" if a == axis else f"x_{a}" for a, _ in layout}
        to = " + ".join([f"{names[a]} * {s}" for a, s in self._strides(load).items()] + ["lane"])
        source = " + ".join([f"x_{v} * {s}" for v, s in load.strides] + [str(load.offset)])
        read = f"{self._names.pointers[load.tensor]}[{source}]"
        value = f"x_{axis} < {self._tile.free[axis]} ? {read} : ({memory_type(load.dtype)})0"
        lane = f"for (int64_t lane = 0; lane < {size}; lane++) {{ const int64_t x_{axis} = tile * {size} + lane;"
        near = layout[-1][0] if load.stride(layout[-1][0]) == 1 and layout[-1][0] != axis else None
        loops = [f"for (int64_t {names[a]} = 0; {names[a]} < {n}; {names[a]}++) {{" for a, n in layout if a != near]
        inside = [lane]
        if near is not None:
            first, n = f"first_{near}", dict(layout)[near]
            loops.append(f"for (int64_t {first} = 0; {first} < {n}; {first} += {BLOCK}) {{")
            last = f"({first} + {BLOCK} < {n} ? {first} + {BLOCK} : {n})"
            inside.append(f"for (int64_t x_{near} = {first}; x_{near} < {last}; x_{near}++) {{")
        pragma = []
        if self._tile.schedule.parallel and self._elements(load) >= PARALLEL_WORK:
            count = min(2, len(loops))
            pragma = [f"#pragma omp parallel for collapse({count}) schedule(static)"]
        ends = ["}"] * (len(loops) + len(inside))
        return [*pragma, *loops, *inside, f"{buffer}[{to}] = {value};", *ends]
