"""A whole program as Slang: one function a lowered nest, run by one thread for each tile of its elements.

Reductions run inside a thread, one after the other; so do the axes along which two iterations may write the same
element, so results do not depend on the order of threads. A tile that reaches over an axis's end computes its
last elements again and does not store them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import ceil, prod

from ..expr.dtypes import FLOAT32
from ..expr.ir import Load, Program, walk
from ..loops.description import ProgramSchedule, Schedule
from ..loops.fusion import groups
from ..loops.ir import Loops
from ..program.identity import identity
from ..program.prefixes import in_blocks
from .prelude import prelude
from .values import HALVES, Point, ValueWriter, cast, combined, compute_type, memory_type, single_only, stored

ENTRY = "tp_run"
GROUP = 256
"""Threads in a group on a GPU."""


@dataclass(frozen=True)
class Stage:
    """One dispatch: its entry point on a GPU, how many threads it has, and the tensors that it takes."""

    entry: str
    threads: int
    tensors: tuple[str, ...]


@dataclass(frozen=True)
class Generated:
    """Slang for a program.

    Attributes:
        text: the module. On a GPU each stage is an entry point; on the CPU `tp_run` runs a part of any stage.
        stages: in order.
        tensors: every tensor, with its name in the text.
        checks: by the number that a failed run leaves in the status, from 1, the load and the index.
        single_only: a function of doubles that Vulkan does not have, or an empty text.
    """

    text: str
    stages: tuple[Stage, ...]
    tensors: dict[str, str]
    checks: tuple[tuple[Load, int], ...]
    single_only: str


def lowered(program: Program) -> list[Loops]:
    """The nests that a schedule for a GPU speaks of: each on its own."""
    return [n for g in groups(in_blocks(program), False) for n in g.nests]


def generate(program: Program, schedule: ProgramSchedule, clamp: bool) -> Generated:
    """Writes the module of a program."""
    program = in_blocks(program)
    nests = lowered(program)
    written = dict.fromkeys(n.target for n in nests)
    names = {n: f"p{i}" for i, n in enumerate(dict.fromkeys([*program.inputs, *program.contents, *written]))}
    checks: list[tuple[Load, int]] = []
    functions: list[str] = []
    stages: list[Stage] = []
    types = {names[n]: memory_type(program.tensors[n].dtype) for n in names}

    def stage(threads: int, tensors: list[str], body: list[str]) -> None:
        number = len(stages)
        parameters = [f"{types[names[t]]}* {names[t]}" for t in tensors] + ["int* tp_status"]
        index = "uint" if threads < 1 << 31 else "uint64_t"
        functions.append("\n".join([f"void stage{number}({index} t, {', '.join(parameters)})", "{", *body, "}"]))
        stages.append(Stage(f"tp_stage{number}", threads, tuple(tensors)))

    for nest, how in zip(nests, schedule.nests, strict=True):
        if not nest.covers:
            to, kind = names[nest.target], program.tensors[nest.target]
            source = f"{names[nest.base]}[t]" if nest.base else f"{types[to]}(0)"
            stage(kind.numel, [nest.target, *([nest.base] if nest.base else [])], [f"{to}[t] = {source};"])
        writer = _NestWriter(nest, how, names, checks, clamp)
        lines = writer.lines()
        stage(writer.threads, writer.tensors(), lines)
    entries = [_gpu_entry(s, n, names, types) for n, s in enumerate(stages)]
    text = "\n".join([*functions, *entries, _cpu_entry(stages, names, types), ""])
    single = next((f for n in nests for e in n.expressions() if (f := single_only(e))), "")
    return Generated(prelude(text) + text, tuple(stages), names, tuple(checks), single)


def _gpu_entry(stage: Stage, number: int, names: Mapping[str, str], types: Mapping[str, str]) -> str:
    tensors = [names[t] for t in stage.tensors]
    parameters = ["uniform uint64_t tp_begin", "uniform uint64_t tp_end"]
    parameters += [f"uniform {types[t]}* {t}" for t in tensors] + ["uniform int* tp_status"]
    index = "uint" if stage.threads < 1 << 31 else ""
    return f"""[shader("compute")]
[numthreads({GROUP}, 1, 1)]
void {stage.entry}(uint3 tp_id : SV_DispatchThreadID, {", ".join(parameters)})
{{
    uint64_t t = tp_begin + uint64_t(tp_id.x);
    if (t < tp_end) stage{number}({index}(t), {", ".join([*tensors, "tp_status"])});
}}"""


def _cpu_entry(stages: list[Stage], names: Mapping[str, str], types: Mapping[str, str]) -> str:
    """The stage is a number on the CPU, so that one compilation serves all."""
    parameters = ["uniform uint64_t tp_begin", "uniform uint64_t tp_end", "uniform uint64_t tp_number"]
    parameters += [f"uniform {types[t]}* {t}" for t in names.values()] + ["uniform int* tp_status"]
    lines = ['[shader("compute")]', "[numthreads(1, 1, 1)]", f"void {ENTRY}({', '.join(parameters)})", "{"]
    for number, stage in enumerate(stages):
        index = "uint" if stage.threads < 1 << 31 else ""
        given = ", ".join([*(names[t] for t in stage.tensors), "tp_status"])
        lines.append(f"if (tp_number == {number})")
        lines.append(f"for (uint64_t t = tp_begin; t < tp_end; t++) stage{number}({index}(t), {given});")
    return "\n".join([*lines, "}"])


class _NestWriter:
    """Writes one nest."""

    def __init__(
        self, nest: Loops, schedule: Schedule, names: dict[str, str], checks: list[tuple[Load, int]], clamp: bool
    ) -> None:
        self._nest, self._names, self._clamp = nest, names, clamp
        self._axes = {a: f"i{n}" for n, a in enumerate(nest.extents)}
        self._dtype = nest.value.dtype
        self._shared = [a for a, _ in nest.left if a in nest.scatter]
        self._threaded = _order(nest, schedule)
        self._strided = schedule.vector if schedule.vector in self._threaded else None
        tiles = {a: n for a, n in schedule.unroll if a in self._threaded and a != self._strided}
        if self._strided:
            tiles[self._strided] = schedule.vectors
        self._tiles = {a: min(n, nest.extents[a]) for a, n in tiles.items() if min(n, nest.extents[a]) > 1}
        self._values = ValueWriter(names, self._axes, nest.extents, checks, clamp)

    @property
    def threads(self) -> int:
        """The number of threads of the nest."""
        return prod(self._count(a) for a in self._threaded)

    def tensors(self) -> list[str]:
        """Every tensor that the lines name."""
        nest = self._nest
        loads = [*nest.loads(), *(x for x in walk(nest.store) if isinstance(x, Load))]
        return list(dict.fromkeys([*(x.tensor for x in loads), *([nest.base] if nest.base else [])]))

    def _count(self, axis: str) -> int:
        return ceil(self._nest.extents[axis] / self._tiles.get(axis, 1))

    def lines(self) -> list[str]:
        """The body of the function of one thread, numbered `t`."""
        points = self._points()
        loops = [*self._loops(self._shared)]
        return [*self._position(), *loops, *self._computed(points), *("}" for _ in loops)]

    def _points(self) -> list[Point]:
        offsets = [[(a, i) for i in range(n)] for a, n in self._tiles.items()]
        return [tuple(p) for p in product(*offsets)]

    def _position(self) -> Iterator[str]:
        """The axes' values: of the thread, and of each place in its tile."""
        rest = "t"
        for axis in reversed(self._threaded):
            name, count = self._axes[axis], self._count(axis)
            last = axis == self._threaded[0]
            at = rest if last else f"{rest} % {count}"
            tile = self._tiles.get(axis, 1)
            step = 1 if axis == self._strided else tile
            kind = self._kind(axis)
            yield f"{kind} {name} = {kind}({at})" + (f" * {step};" if step > 1 else ";")
            for offset in range(tile) if tile > 1 else ():
                moved = offset * count if axis == self._strided else offset
                extent = self._nest.extents[axis]
                code = f"{name} + {moved}"
                code = f"min({code}, {extent - 1})" if self._overhangs(axis) else code
                yield f"{kind} {name}_{offset} = {code};"
            if not last:
                yield f"{'uint' if self.threads < 1 << 31 else 'uint64_t'} r{name} = {rest} / {count};"
                rest = f"r{name}"

    def _kind(self, axis: str) -> str:
        """The type of an axis; lines of memory that became one axis may be longer than an int32."""
        return "int" if self._nest.extents[axis] + self._tiles.get(axis, 1) < 1 << 31 else "int64_t"

    def _overhangs(self, axis: str) -> bool:
        return bool(self._nest.extents[axis] % self._tiles.get(axis, 1))

    def _loops(self, axes: list[str]) -> Iterator[str]:
        for axis in axes:
            i = self._axes[axis]
            yield f"for ({self._kind(axis)} {i} = 0; {i} < {self._nest.extents[axis]}; {i}++) {{"

    def _computed(self, points: list[Point]) -> list[str]:
        """The values of a tile, and their stores."""
        nest, values = self._nest, self._values
        values.fresh()
        if nest.op == "=":
            found = {p: values.value(nest.value, p) for p in points}
            return [*values.take(), *self._stores(found)]
        kind = compute_type(self._dtype)
        start = values.value(identity(nest.op, self._dtype), ())
        totals = {p: f"a{number}" for number, p in enumerate(points)}
        lines = [f"{kind} {a} = {start};" for a in totals.values()]
        loops = list(self._loops([a for a, _ in nest.reduced]))
        values.fresh()
        for p in points:
            value = values.value(nest.value, p)
            values.lines.append(f"{totals[p]} = {combined(nest.op, totals[p], value, self._dtype)};")
        lines += [*loops, *values.take(), *("}" for _ in loops)]
        values.fresh()
        return [*lines, *self._stores(totals)]

    def _stores(self, found: Mapping[Point, str]) -> list[str]:
        nest, values = self._nest, self._values
        for p, value in found.items():
            indices = [values.index(d, p) for d in nest.store.dynamic]
            tests = [f"{self._raw(a, p)} < {nest.extents[a]}" for a in self._tiles if self._overhangs(a)]
            for at, d in enumerate(nest.store.dynamic):
                if d.checked and self._clamp:
                    indices[at] = f"tp_clamped({indices[at]}, {d.size})"
                elif d.checked:
                    tests.append(f"{indices[at]} >= 0 && {indices[at]} < {d.size}")
            values.lines.append(f"if ({' && '.join(tests)}) {{" if tests else "{")
            values.fresh()
            self._store(value, indices, p)
            values.lines.append("}")
            values.fresh()
        return values.take()

    def _raw(self, axis: str, point: Point) -> str:
        """An axis's value before it was brought inside."""
        offset = dict(point)[axis]
        return f"{self._axes[axis]} + {offset * self._count(axis) if axis == self._strided else offset}"

    def _store(self, value: str, indices: list[str], point: Point) -> None:
        nest, values = self._nest, self._values
        if nest.op != "=" and (nest.scatter or (nest.base and not nest.init)):
            before_it = nest.base if nest.covers and nest.base else nest.target
            at = values.place(replace(nest.store, tensor=before_it), indices, point)
            before = f"{HALVES[self._dtype.name][0]}({at})" if self._dtype.is_half else at
            value = values.name(compute_type(self._dtype), combined(nest.op, before, value, self._dtype))
        if nest.final is not None:
            values.accumulators = {point: value}
            value = values.value(nest.final, point)
        into, kind = values.place(nest.store, indices, point), nest.store.dtype
        source = nest.value.dtype if nest.final is None else nest.final.dtype
        if source != kind:
            value = cast(value, source, FLOAT32 if kind.is_half else kind)
        values.lines.append(f"{into} = {stored(value, kind)};")


def _order(nest: Loops, schedule: Schedule) -> list[str]:
    """The axes that threads share from the slowest on; neighbouring threads differ in the last, the vector axis."""
    names = [a for a, _ in nest.left if a not in nest.scatter]
    ordered = [a for a in schedule.order if a in names]
    ordered += [a for a in names if a not in ordered]
    if schedule.vector in ordered:
        ordered.remove(schedule.vector)
        ordered.append(schedule.vector)
    return ordered
