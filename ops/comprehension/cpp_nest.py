"""One lowered nest as C++ loops, by its schedule: tiles of registers over left axes, then the reduced loops.

Every left axis steps over tiles; where its extent is no multiple of the tile, a second body with fewer unrolled
values, or with a last vector of fewer lanes, handles the rest. All extents are literals, so the compiler sees them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice, product
from math import ceil, prod

from .cpp_values import Point, Value, ValueEmitter, compute_type, lane_type, memory_type
from .dtypes import DType
from .ir import Const, Dynamic, Expr, Load, op, rebuild
from .lower import Loops
from .schedule import Schedule
from .specialise import identity

PARALLEL_WORK = 1 << 15
"""Iterations below which starting threads costs more than it gains."""

PACKED_AT_MOST = 8
"""Operands of a nest that are packed; as many buffers there are a thread."""


@dataclass(frozen=True)
class Target:
    """What the compiler compiles for.

    Args:
        name: the tag of the instruction set.
        vector_bytes: of its widest vectors.
        registers: how many vectors it holds.
    """

    name: str
    vector_bytes: int
    registers: int


@dataclass
class Names:
    """What the emitted code calls things: pointers by tensor, element types, and the tests collected so far."""

    pointers: dict[str, str]
    types: dict[str, DType]
    checks: list[tuple[Load, int]]
    clamp: bool


def emit_nest(nest: Loops, schedule: Schedule, names: Names, target: Target, fixed: int, prefix: str) -> list[str]:
    """The lines of a nest.

    Args:
        nest: what to compute.
        schedule: how.
        names: shared with the whole program.
        target: the instruction set.
        fixed: how many of the first left axes are loops around these lines already.
        prefix: for names of locals that must differ between nests.
    """
    return _NestEmitter(nest, schedule, names, target, fixed, prefix).lines()


class _NestEmitter:
    """The state while one nest is written."""

    def __init__(self, nest: Loops, schedule: Schedule, names: Names, target: Target, fixed: int, prefix: str) -> None:
        self._nest, self._names, self._prefix = nest, names, prefix
        self._fixed = [a for a, _ in nest.left[:fixed]]
        self._free = dict(nest.left[fixed:])
        self._reduced = dict(nest.reduced)
        self._axis = schedule.vector if schedule.vector in {**self._free, **self._reduced} else None
        self._lanes = (schedule.lanes or lanes_of(nest, target)) if self._axis else 1
        self._vectors = schedule.vectors if self._axis else 1
        self._unroll = {a: n for a, n in schedule.unroll if a in self._free and a != self._axis and n > 1}
        self._schedule = schedule
        self._dtype = nest.value.dtype
        self._packed: dict[Load, str] = {}
        self._values = ValueEmitter(
            self._lanes, widest(nest), self._axis, names.pointers, names.types, names.checks, names.clamp
        )

    # -- loops -----------------------------------------------------------------------------------------

    def lines(self) -> list[str]:
        """Everything: the contents before, packing, and the loops."""
        head = self._contents()
        if self._schedule.pack and not self._fixed:
            head += self._pack()
        order = self._order()
        body = self._variants(order)
        opened = [self._loop(a) for a in order]
        pragma = self._pragma(order)
        return [*head, *([pragma] if pragma else []), *opened, *body, *("}" for _ in opened)]

    def _order(self) -> list[str]:
        """The free left axes from outside: those that may be shared among threads first."""
        names = [a for a in self._schedule.order if a in self._free]
        names += [a for a in self._free if a not in names]
        return [a for a in names if a not in self._nest.scatter] + [a for a in names if a in self._nest.scatter]

    def _tile(self, axis: str) -> int:
        if axis == self._axis:
            return min(self._vectors, ceil(self._free[axis] / self._lanes)) * self._lanes
        return self._unroll.get(axis, 1)

    def _loop(self, axis: str) -> str:
        extent, tile = self._free[axis], self._tile(axis)
        return f"for (int64_t x_{axis} = 0; x_{axis} < {extent}; x_{axis} += {tile}) {{"

    def _pragma(self, order: list[str]) -> str:
        private = [a for a in order if a not in self._nest.scatter]
        if self._fixed or not private or not self._schedule.parallel or self._nest.iterations < PARALLEL_WORK:
            return ""
        count, tiles = 0, 1
        while count < len(private) and tiles < 64:
            tiles *= ceil(self._free[private[count]] / self._tile(private[count]))
            count += 1
        limit = f" num_threads({self._schedule.threads})" if self._schedule.threads else ""
        return f"#pragma omp parallel for collapse({count}) schedule(static){limit}"

    def _variants(self, order: list[str]) -> list[str]:
        """The body for full tiles, and those for the rest along each tiled axis, chosen by position."""
        tiled = [a for a in order if self._tile(a) > 1]
        choices = []
        for axis in tiled:
            extent, tile = self._free[axis], self._tile(axis)
            counts = ([tile] if extent >= tile else []) + ([extent % tile] if extent % tile else [])
            choices.append([(axis, s) for s in counts])
        lines: list[str] = []
        for combination in product(*choices):
            sizes = dict(combination)
            tests = [
                f"x_{a} {'<=' if s == self._tile(a) else '>'} {self._free[a] - self._tile(a)}"
                for a, s in combination
                if self._free[a] % self._tile(a) and self._free[a] >= self._tile(a)
            ]
            body = self._body(sizes)
            lines += [f"if ({' && '.join(tests)}) {{" if tests else "{", *body, "}"]
        return lines

    # -- one tile --------------------------------------------------------------------------------------

    def _points(self, sizes: Mapping[str, int]) -> list[Point]:
        """The tile's points; the last vector may have fewer lanes."""
        vectors = [(0, 1)]
        if self._axis is not None and self._axis in sizes:
            vectors = list(_vectors(sizes[self._axis], self._lanes))
        elif self._axis in self._free:
            vectors = list(_vectors(self._free[self._axis], self._lanes))
        elif self._axis:
            vectors = [(q, self._lanes) for q in range(self._vectors)]
        unrolled = [[(a, i) for i in range(sizes[a])] for a in sizes if a != self._axis]
        return [Point(tuple(offsets), q, n) for offsets in product(*unrolled) for q, n in vectors]

    def _body(self, sizes: Mapping[str, int]) -> list[str]:
        points = self._points(sizes)
        values = self._values
        values.fresh()
        values.accumulators = {}
        if self._nest.op == "=":
            for p in points:
                values.accumulators[p] = values.value(self._packing(self._nest.value), p)
            return [*values.take(), *self._stores(points)]
        start = identity(self._nest.op, self._dtype)
        lines, locals_ = [], {}
        for number, p in enumerate(points):
            local = f"{self._prefix}a{number}"
            initial = values.value(start, p)
            v = values.spread(initial) if self._axis else initial
            lines.append(f"auto {local} = {v.code};")
            locals_[p] = local
        lines += self._reduction(points, locals_)
        values.fresh()
        lines += self._finished_reduction(points, locals_)
        return [*lines, *self._stores(list(values.accumulators))]

    def _reduction(self, points: list[Point], locals_: dict[Point, str]) -> list[str]:
        """The loops over reduced axes around the accumulation; the vector axis last, if it is one of them."""
        outer = [a for a in self._reduced if a != self._axis]
        opened = [f"for (int64_t x_{a} = 0; x_{a} < {self._reduced[a]}; x_{a}++) {{" for a in outer]
        if self._axis not in self._reduced:
            return [*opened, *self._accumulate(points, locals_), *("}" for _ in opened)]
        return [*opened, *self._vector_reduction(points, locals_), *("}" for _ in opened)]

    def _vector_reduction(self, points: list[Point], locals_: dict[Point, str]) -> list[str]:
        axis, extent = self._axis, self._reduced[self._axis or ""]
        step = self._vectors * self._lanes
        lines: list[str] = []
        if extent >= step:
            lines += [f"for (int64_t x_{axis} = 0; x_{axis} < {extent - extent % step}; x_{axis} += {step}) {{"]
            lines += [*self._accumulate(points, locals_), "}"]
        if extent % step:
            rest = dict(_vectors(extent % step, self._lanes))
            some = {replace(p, lanes=rest[p.vector]): locals_[p] for p in points if p.vector in rest}
            lines += [f"{{ const int64_t x_{axis} = {extent - extent % step};"]
            lines += [*self._accumulate(list(some), some), "}"]
        return lines

    def _accumulate(self, points: list[Point], locals_: dict[Point, str]) -> list[str]:
        values = self._values
        values.fresh()
        neutral = identity(self._nest.op, self._dtype)
        for p in points:
            v = values.value(self._packing(self._nest.value), p)
            if self._axis:
                v = values.spread(v)
            if self._axis in self._reduced and p.lanes < self._lanes:
                kept = values.spread(values.value(neutral, p)).code
                lanes = f"{self._same_width()}, {self._lanes}"
                inside = f"iota<{lanes}>(0) < (Vec<{lanes}>{{}} + {p.lanes})"
                v = Value(f"(({inside}) ? {v.code} : {kept})", v.dtype, True)
            values.lines.append(f"{locals_[p]} = {self._combined(locals_[p], v.code, bool(self._axis))};")
        return values.take()

    def _same_width(self) -> str:
        return f"int{32 if self._dtype.name == 'float16' else self._dtype.bits}_t"

    def _combined(self, a: str, b: str, vector: bool) -> str:
        if self._nest.op in ("+", "*"):
            code = f"{a} {self._nest.op} {b}"
            return code if vector or self._dtype.is_float else f"({compute_type(self._dtype)})({code})"
        return f"{'v' if vector else 's'}{self._nest.op}({a}, {b})"

    def _finished_reduction(self, points: list[Point], locals_: dict[Point, str]) -> list[str]:
        """Brings the accumulators to one value a place: vectors of a reduced axis are reduced across lanes."""
        values = self._values
        if self._axis not in self._reduced:
            values.accumulators = {
                p: self._with_base(Value(locals_[p], self._dtype, bool(self._axis)), p) for p in points
            }
            return values.take()
        by_place: dict[tuple[tuple[str, int], ...], list[str]] = {}
        for p in points:
            by_place.setdefault(p.offsets, []).append(locals_[p])
        lines = []
        for number, (offsets, vectors) in enumerate(by_place.items()):
            local, kind = f"{self._prefix}s{number}", compute_type(self._dtype)
            lines += [f"{vectors[0]} = {self._combined(vectors[0], other, True)};" for other in vectors[1:]]
            lines += self._folded(vectors[0])
            lines.append(f"{kind} {local} = {vectors[0]}[0];")
            p = Point(offsets, 0, self._lanes)
            values.accumulators[p] = Value(local, self._dtype, False)
        values.accumulators = {p: self._with_base(v, p) for p, v in values.accumulators.items()}
        return lines + values.take()

    def _folded(self, local: str) -> list[str]:
        """Reduces a vector onto each of its lanes, by halves."""
        lanes = f"{self._same_width()}, {self._lanes}"
        steps = [1 << k for k in reversed(range(self._lanes.bit_length() - 1))]
        halves = [f"__builtin_shuffle({local}, iota<{lanes}>(0) ^ {step})" for step in steps]
        return [f"{local} = {self._combined(local, half, True)};" for half in halves]

    def _with_base(self, v: Value, p: Point) -> Value:
        """Joins a reduction with the contents before."""
        if self._nest.init or self._nest.scatter or not self._nest.base:
            return v if not self._nest.scatter else self._joined(v, p)
        return self._joined(v, p)

    def _joined(self, v: Value, p: Point) -> Value:
        source = self._nest.base if self._nest.covers and self._nest.base else self._nest.target
        before = self._values.value(replace(_clamped(self._nest.store), tensor=source), p)
        if v.vector:
            before = self._values.spread(before)
        return Value(self._values.name(self._combined(before.code, v.code, v.vector)), v.dtype, v.vector)

    # -- stores ----------------------------------------------------------------------------------------

    def _stores(self, points: list[Point]) -> list[str]:
        values, nest = self._values, self._nest
        for p in points:
            v = values.accumulators[p]
            if nest.final is not None:
                v = values.value(self._packing(nest.final), p)
            self._store(values.cast(v, nest.store.dtype), p)
        return values.take()

    def _store(self, v: Value, p: Point) -> None:
        values = self._values
        load = _clamped(self._nest.store) if self._names.clamp else self._nest.store
        address, tests = values.address(load, p), []
        for d in load.dynamic:
            index = values.value(d.index, p).code
            address += f" + (int64_t)({index}) * {d.step}"
            if d.checked:
                tests.append(f"(uint64_t)(int64_t)({index}) < {d.size}ull")
        pointer, memory = f"{self._names.pointers[load.tensor]} + ({address})", memory_type(load.dtype)
        step = load.stride(self._axis) if self._axis else 0
        if step == 0:
            code = f"*({pointer}) = ({memory})({v.code});"
        else:
            v = values.spread(v)
            lanes = f"<{memory}, {values.vec(load.dtype)}>"
            code = f"{v.code} & 1" if load.dtype.is_bool else v.code
            if step != 1:
                code = f"store_strided{lanes}({pointer}, {step}, {p.lanes}, {code});"
            elif p.lanes < self._lanes:
                code = f"store_first{lanes}({pointer}, {p.lanes}, {code});"
            else:
                code = f"store{lanes}({pointer}, {code});"
        values.lines.append(f"if ({' && '.join(tests)}) {code}" if tests else code)

    def _contents(self) -> list[str]:
        """What has to be in the target before the loops run."""
        nest = self._nest
        if nest.covers:
            return []
        to = self._names.pointers[nest.target]
        size = f"n_{to}"
        if nest.base:
            return [f"memcpy((void*){to}, (const void*){self._names.pointers[nest.base]}, {size});"]
        return [f"memset((void*){to}, 0, {size});"]

    # -- packing ---------------------------------------------------------------------------------------

    def _packing(self, e: Expr) -> Expr:
        """The expression with packed loads in place of theirs."""
        if not self._packed:
            return e
        return self._swap(e)

    def _swap(self, e: Expr) -> Expr:
        if isinstance(e, Load) and e in self._packed:
            return self._packed_load(e)
        return rebuild(e, self._swap)

    def _packable(self) -> Iterator[Load]:
        """Loads of plain addresses that use the vector axis, and each element of which is copied about once."""
        for load in dict.fromkeys(self._nest.loads()):
            used = [v for v, _ in load.strides]
            plain = not load.dynamic and not load.guarded and self._axis in used and self._axis in self._free
            whole = prod(self._nest.extents[v] for v in used)
            if plain and whole <= 2 * self._sizes[load.tensor] and len(used) > 1:
                yield load

    @property
    def _sizes(self) -> dict[str, int]:
        spans: dict[str, int] = {}
        for load in self._nest.loads():
            span = load.offset + sum(abs(s) * (self._nest.extents[v] - 1) for v, s in load.strides) + 1
            spans[load.tensor] = max(span, spans.get(load.tensor, 0))
        return spans

    def _layout(self, load: Load) -> list[tuple[str, int]]:
        """The packed buffer's axes from outside, the vector axis's tiles after other left axes; extents in tiles."""
        used = {v for v, _ in load.strides}
        left = [(a, self._free[a]) for a in self._order() if a in used and a != self._axis]
        tiles = ceil(self._free[self._axis or ""] / self._tile(self._axis or ""))
        reduced = [(a, n) for a, n in self._reduced.items() if a in used]
        return [*left, (self._axis or "", tiles), *reduced]

    def _packed_load(self, load: Load) -> Load:
        """The load of the packed copy; the vector axis steps over its tile, and over tiles as a whole."""
        tile = self._tile(self._axis or "")
        strides, step = {}, tile
        for axis, n in reversed(self._layout(load)):
            strides[axis] = step
            step *= n
        across = strides.pop(self._axis or "")
        inner = list(strides.items())
        # x_axis counts elements: tiles are `across` apart, elements 1, so the tile's step is folded into a pointer.
        axes = ((self._axis or "", 1), *inner)
        buffer = self._packed[load] if across == tile else f"{self._packed[load]}_tile"
        return replace(load, tensor=buffer, strides=axes, offset=0, dynamic=(), place=None)

    def _pack(self) -> list[str]:
        """Copies into the buffers, with zeros behind the last lanes."""
        lines: list[str] = []
        for number, load in enumerate(islice(self._packable(), PACKED_AT_MOST)):
            buffer = f"{self._prefix}k{number}"
            layout, tile = self._layout(load), self._tile(self._axis or "")
            size = prod(n for _, n in layout) * tile
            kind, axis = memory_type(load.dtype), self._axis or ""
            self._packed[load] = buffer
            across = tile * prod(n for a, n in layout[[a for a, _ in layout].index(axis) + 1 :])
            self._names.types[buffer] = self._names.types[f"{buffer}_tile"] = load.dtype
            self._names.pointers[buffer] = buffer
            self._names.pointers[f"{buffer}_tile"] = f"{buffer} + x_{axis} / {tile} * {across - tile}"
            lines += [f"{kind}* __restrict {buffer} = ({kind}*)scratch({size} * sizeof({kind}), {number});"]
            lines += self._pack_loops(load, buffer, layout, tile)
        return lines

    def _pack_loops(self, load: Load, buffer: str, layout: list[tuple[str, int]], tile: int) -> list[str]:
        axis, at = self._axis or "", "0"
        for name, n in layout:
            at = f"({at}) * {n} + {'tile' if name == axis else f'x_{name}'}"
        loops = [f"for (int64_t {'tile' if a == axis else f'x_{a}'} = 0; {'tile' if a == axis else f'x_{a}'} < {n}; "
                 f"{'tile' if a == axis else f'x_{a}'}++) {{" for a, n in layout]  # fmt: skip
        source = " + ".join([f"x_{v} * {s}" for v, s in load.strides] + [str(load.offset)])
        tensor = self._names.pointers[load.tensor]
        copy = [
            f"for (int64_t lane = 0; lane < {tile}; lane++) {{ const int64_t x_{axis} = tile * {tile} + lane;",
            f"{buffer}[({at}) * {tile} + lane] = x_{axis} < {self._free[axis]} ? {tensor}[{source}] : 0; }}",
        ]
        count = 2 if len(layout) > 1 else 1
        pragma = f"#pragma omp parallel for collapse({count}) schedule(static)" if self._schedule.parallel else ""
        return [pragma, *loops, *copy, *("}" for _ in loops)]


def _clamped(load: Load) -> Load:
    """The same address with its tested indices brought inside: where a store is skipped, what is read is not used."""

    def inside(d: Dynamic) -> Dynamic:
        index = op("min", op("max", d.index, Const(d.index.dtype, 0)), Const(d.index.dtype, d.size - 1))
        return replace(d, index=index, checked=False) if d.checked else d

    return replace(load, dynamic=tuple(inside(d) for d in load.dynamic))


def _vectors(size: int, lanes: int) -> Iterator[tuple[int, int]]:
    """Numbers of the vectors that hold `size` values, with the lanes that count in each."""
    for q in range(ceil(size / lanes)):
        yield q, min(lanes, size - q * lanes)


def lanes_of(nest: Loops, target: Target) -> int:
    """Lanes of a nest's vectors: as many as its widest values allow."""
    return max(2, target.vector_bytes // widest(nest))


def widest(nest: Loops) -> int:
    """Bytes of the widest values of a nest, which decide how many lanes a vector has."""
    return max(lane_type(nest.value.dtype), lane_type(nest.store.dtype))
