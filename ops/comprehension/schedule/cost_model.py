"""The cost of a schedule of one nest by a model of the processor, which ranks schedules and predicts no times.

The model counts cycles of a core that multiplies and adds one widest vector a cycle. For one step of the reduced loops
over a tile it takes the largest of arithmetic, loads, latency and instructions, then adds what a tile costs at its
ends. Tiles at the end of an axis are counted as they are, smaller. The constants were fitted to measurements of matrix
products and convolutions on Zen 4; they order schedules of other nests and processors well enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from math import ceil, gcd, prod

from ...kernels.cpu import Target
from ..cpp.tile import PARALLEL_WORK
from ..loops.description import Schedule
from ..loops.ir import Loops
from .load_facts import LINE, LoadFacts

_L1_BYTES = 24 << 10
"""What of the first cache the vectors of one tile may fill, so that the next tile finds them there."""
_L2_LINE = 3.0
"""Cycles for a cache line from the second cache."""
_L2_BYTES = 1 << 20
_FAR_LINE = 3.2
"""Cycles for a cache line from behind the second cache, where lines are read in turn."""
_FAR_WIDE = 1.1
"""How much longer that takes with vectors that a processor runs as two halves, as both wait for the line."""
_L1_WAYS, _L1_WAY_BYTES = 8, 4096
_SPILLS = 0.8
"""The share of registers above which compilers start to spill."""
_STEP = 1.0
"""Instructions to count a step of a loop."""
_TILE_START = 10.0
"""Cycles to set up a tile and leave its loops."""
_BRANCH = 3.0
"""Comparing two values, one of which may be no number, where vectors do so without branches."""
_ACROSS = 12.0
"""Cycles to reduce one vector across its lanes."""
_FAR_BYTES = 1024
"""Reduced steps so far apart use another page every few steps."""


class Cost:
    """The cost of schedules of one nest.

    Args:
        nest: the nest.
        lanes: the number of lanes of the widest vectors.
        target: the instruction set.
        fixed: how many of the first left axes are loops around the nest already.
        threads: the number of threads that share the tiles.
    """

    def __init__(self, nest: Loops, lanes: int, target: Target, fixed: int, threads: int = 1) -> None:
        self._nest, self._lanes, self._target, self._fixed = nest, lanes, target, fixed
        self._threads = threads
        self._extents = nest.extents
        self._free, self._reduced = dict(nest.left[fixed:]), dict(nest.reduced)
        self._loads = [LoadFacts(load, self._extents) for load in dict.fromkeys(nest.loads())]
        self._vector_loads: dict[tuple[LoadFacts, str | None, int, bool, int], float] = {}

    def cycles(self, s: Schedule) -> float:
        """Cycles of the nest; infinite where the tile does not fit into the registers."""
        vectors = min(s.vectors, ceil(self._extents.get(s.vector or "", 1) / self._width(s)))
        if self._registers(s, vectors, dict(s.unroll)) > self._target.registers:
            return float("inf")
        total = sum(count * self._tile(s, v, unroll) for count, v, unroll in self._tiles(s))
        return total * self._imbalance(s) + (self._packing(s) if s.pack else 0.0)

    def _imbalance(self, s: Schedule) -> float:
        """How much more than its share the first thread has: as many tiles of the outermost axis, but none cut off."""
        outermost = next((a for a in (*s.order, *self._free) if a in self._free), None)
        if self._threads == 1 or self._fixed or outermost is None or self._nest.iterations < PARALLEL_WORK:
            return 1.0
        width = self._width(s) if outermost == s.vector else 1
        size = s.vectors if outermost == s.vector else dict(s.unroll).get(outermost, 1)
        steps = ceil(self._free[outermost] / width)
        return ceil(steps / size) * size / steps

    def _width(self, s: Schedule) -> int:
        return (s.lanes or self._lanes) if s.vector else 1

    def _registers(self, s: Schedule, vectors: int, unroll: Mapping[str, int]) -> int:
        """The accumulators, the vectors of one operand, and one value of the other."""
        tile = vectors * prod(unroll.values())
        held = max((vectors for x in self._loads if s.vector in x.used), default=0)
        return tile + held + 1

    def _tiles(self, s: Schedule) -> Iterator[tuple[int, int, dict[str, int]]]:
        """How many tiles there are of each size: whole ones, and those at the end of an axis."""
        choices: list[list[tuple[str, int, int]]] = []
        for axis, extent in self._free.items():
            size = s.vectors * self._width(s) if axis == s.vector else dict(s.unroll).get(axis, 1)
            whole, rest = divmod(extent, size)
            choices.append([(axis, n, count) for n, count in ((size, whole), (rest, 1)) if n and count])
        for combination in product(*choices):
            sizes = {axis: n for axis, n, _ in combination}
            vectors = ceil(sizes.pop(s.vector) / self._width(s)) if s.vector in sizes else s.vectors
            yield prod(count for *_, count in combination), vectors, {a: n for a, n in sizes.items() if n > 1}

    def _tile(self, s: Schedule, vectors: int, unroll: Mapping[str, int]) -> float:
        steps = prod(self._reduced.values())
        if s.vector in self._reduced:
            extent = self._reduced[s.vector]
            steps = steps // extent * ceil(extent / (vectors * self._width(s)))
        return steps * self._step(s, vectors, unroll) + self._ends(s, vectors, unroll) + _TILE_START

    # -- one step of the reduced loops -----------------------------------------------------------------

    def _step(self, s: Schedule, vectors: int, unroll: Mapping[str, int]) -> float:
        tile = vectors * prod(unroll.values())
        loads, count = 0.0, 0
        for load in self._loads:
            n = prod(n for a, n in unroll.items() if a in load.used)
            if s.vector in load.used:
                loads += n * vectors * self._vector_load(load, s, vectors)
                count += n * vectors
            else:
                loads += self._scalar_loads(load, s, unroll)
                count += n
            loads *= 1.3 if self._conflicts(load, unroll) else 1.0
        latency = (4.0 if self._target.splits else 8.0) if self._reduced else 0.0
        far = sum(self._far_lines(x, s, vectors, unroll) for x in self._loads)
        step = max(tile * self._operation(s), loads, latency, (tile + count + 4) / 5, far) + 0.1 * loads + _STEP
        step *= 1.2 if tile > self._target.registers * _SPILLS else 1.0
        return step * max((self._streams(x, s, unroll) for x in self._loads), default=1.0)

    def _far_lines(self, load: LoadFacts, s: Schedule, vectors: int, unroll: Mapping[str, int]) -> float:
        """Cycles for the lines of an operand that is read once, and fits no near cache."""
        size = load.size
        once = bool(self._reduced) and not self._fixed and not load.dynamic and load.whole
        if not once or prod(self._extents.values()) * size <= _L2_BYTES:
            return 0.0
        width = self._width(s)
        wide = _FAR_WIDE if self._target.splits and width * size >= self._target.vector_bytes else 1.0
        return vectors * width * prod(unroll.values()) * size / LINE * _FAR_LINE * wide

    def _streams(self, load: LoadFacts, s: Schedule, unroll: Mapping[str, int]) -> float:
        """Each further row that is read is a stream more to prefetch, worst where nothing is reused."""
        rows = prod(n for a, n in unroll.items() if a in load.used and a in load.apart)
        return 1.0 + (0.15 if load.whole else 0.06 if s.vector in load.used else 0.01) * (rows - 1)

    def _operation(self, s: Schedule) -> float:
        """One vector operation: a processor that runs wide vectors as two halves runs two narrow ones instead."""
        if s.vector is None:
            return _BRANCH if self._nest.op in ("max", "min") else 0.5
        return self._width(s) / self._lanes if self._target.splits else 1.0

    def _vector_load(self, load: LoadFacts, s: Schedule, vectors: int) -> float:
        key = load, s.vector, self._width(s), s.pack, vectors
        if key not in self._vector_loads:
            self._vector_loads[key] = self._one_vector(load, s, vectors)
        return self._vector_loads[key]

    def _one_vector(self, load: LoadFacts, s: Schedule, vectors: int) -> float:
        width = self._width(s)
        step = load.strides.get(s.vector or "", 0)
        packed = s.pack and load.packs
        if s.vector in load.indices or (step != 1 and not packed):
            return 2.0 * width
        others = [n for a, n in load.strides.items() if a != s.vector]
        aligned = packed or all(n % width == 0 for n in (load.offset, *others))
        crossing = 1.0 if aligned else 1.0 + width / self._lanes
        # A processor with whole vectors loads two of them a cycle.
        cost = self._operation(s) * crossing * (1.0 if self._target.splits else 0.5)
        if load.guarded:
            cost *= 1.5
        line = width / self._lanes
        return max(cost, _L2_LINE * line) if self._panel(load, s, vectors) > _L1_BYTES else cost

    def _scalar_loads(self, load: LoadFacts, s: Schedule, unroll: Mapping[str, int]) -> float:
        """Values that all lanes share: two a cycle, fewer from several lines, each new line from the second cache."""
        size, lines, n = load.size, 1.0, 1
        for axis in load.used.intersection(unroll):
            n *= unroll[axis]
            lines *= max(1.0, unroll[axis] * min(1.0, abs(load.strides[axis]) * size / LINE))
        inner = [a for a in self._reduced if a != s.vector and load.strides[a]]
        lines *= min(1.0, abs(load.strides[inner[-1]]) * size / LINE) if inner else 0.0
        steps = prod(self._reduced[a] for a in inner)
        scattered = any(a in load.apart for a in load.used.intersection(unroll))
        new = _L2_LINE * lines if steps * lines * LINE > _L1_BYTES else 0.0
        return n * (0.75 if scattered else 0.5) + new

    def _panel(self, load: LoadFacts, s: Schedule, vectors: int) -> int:
        """Bytes of an operand that one tile reads over all reduced steps; steps along the vector overlap."""
        reach = vectors * self._width(s)
        steps = prod(n for a, n in self._reduced.items() if a != s.vector and abs(load.strides[a]) >= reach)
        return steps * reach * load.size

    def _conflicts(self, load: LoadFacts, unroll: Mapping[str, int]) -> bool:
        """Whether rows that are read side by side fall into the same few sets of the first cache."""
        for axis, n in unroll.items():
            step = abs(load.strides[axis]) * load.size
            if axis in load.apart and step and n > _same_sets(step):
                return True
        return False

    # -- around the steps ------------------------------------------------------------------------------

    def _ends(self, s: Schedule, vectors: int, unroll: Mapping[str, int]) -> float:
        """Starting and storing a tile, and reducing across lanes."""
        tile = vectors * prod(unroll.values())
        if s.vector in self._reduced:
            return tile / vectors * (_ACROSS + vectors / 4)
        if s.vector is None or self._nest.store.stride(s.vector) == 1:
            return 1.5 * tile * self._operation(s)
        step = abs(self._nest.store.stride(s.vector)) * self._nest.store.dtype.bits // 8
        crowded = step >= LINE and vectors * self._width(s) > _same_sets(step)
        return (10.0 if crowded else 1.5) * tile * self._width(s)

    def _packing(self, s: Schedule) -> float:
        """Copying operands, whole lines at once where lanes are neighbours."""
        total = 0.0
        for load in [x for x in self._loads if s.vector in x.used and x.packs]:
            elements = prod(n for a, n in self._extents.items() if load.strides[a])
            total += elements * (0.3 if load.strides.get(s.vector or "", 0) == 1 else 1.5)
        return total

    def wants_packing(self, axis: str | None) -> bool:
        """Whether a copy in the order of use may pay: much reuse of what lies far apart."""
        if axis not in self._free or prod(self._reduced.values()) < 16:
            return False
        reuse = prod(self._free.values()) // self._free[axis]
        return reuse >= 64 and any(load.strides[axis] and load.packs and self._far(load, axis) for load in self._loads)

    def _far(self, load: LoadFacts, axis: str) -> bool:
        """Lanes that are not neighbours, or many reduced steps that are far apart."""
        far = _FAR_BYTES // load.size
        return load.strides[axis] != 1 or any(load.strides[r] >= far and n >= 64 for r, n in self._reduced.items())


def _same_sets(step: int) -> int:
    """How many lines that are so many bytes apart the first cache holds at once."""
    return _L1_WAYS * (_L1_WAY_BYTES // gcd(step, _L1_WAY_BYTES))
