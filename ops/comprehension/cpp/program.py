"""A whole program as one C++ function, with the layout of its arguments and of its work space."""

from __future__ import annotations

from dataclasses import dataclass

from ...kernels.cpu import Target
from ..expr.dtypes import DType
from ..expr.ir import Load, Program
from ..loops.description import ProgramSchedule
from ..loops.fusion import Group, groups
from .nest import emit_nest
from .prelude import prelude, winograd_prelude
from .types import Names, memory_type

ENTRY = "tracepack_comprehension"
_ALIGN = 64


@dataclass(frozen=True)
class Generated:
    """C++ for a program.

    Attributes:
        text: the translation unit.
        workspace: bytes of temporaries that the caller provides, aligned to 64.
        checks: by the number that a failed run returns, from 1, the load and the index that were outside.
    """

    text: str
    workspace: int
    checks: tuple[tuple[Load, int], ...]


def generate(program: Program, schedule: ProgramSchedule, target: Target, clamp: bool) -> Generated:
    """Writes the function `int64_t entry(inputs..., contents..., outputs..., workspace)`; 0 is success."""
    found, schedule = _numbered(groups(program, schedule.fuse), schedule)
    names = Names(*_pointers(program), checks=[], clamp=clamp)
    rows = {name for g in found for name, _ in g.rows}
    layout, workspace = _workspace(program, found, rows)
    body: list[str] = []
    at = 0
    for number, group in enumerate(found):
        body += _group(group, schedule, names, target, number, at)
        at += len(group.nests)
    status = "int64_t status = 0; volatile int64_t* bad = &status; (void)bad;"
    method = [winograd_prelude()] if any(n.winograd for n in schedule.nests) else []
    head = [prelude(), *method, _signature(program, names), status, *_locals(program, names, layout, found)]
    return Generated("\n".join([*head, *body, "return status;", "}", ""]), workspace, tuple(names.checks))


def _numbered(found: list[Group], schedule: ProgramSchedule) -> tuple[list[Group], ProgramSchedule]:
    """The program with numbers for names of axes: no name of a text or of a file gets into generated code."""
    axes = dict.fromkeys(a for g in found for a in (*dict(g.shared), *(a for n in g.nests for a in n.extents)))
    names = {axis: str(number) for number, axis in enumerate(axes)}
    numbered = [
        Group(tuple((names[a], n) for a, n in g.shared), tuple(n.renamed(names) for n in g.nests), g.rows)
        for g in found
    ]
    return numbered, ProgramSchedule(tuple(s.renamed(names) for s in schedule.nests), schedule.fuse)


def _pointers(program: Program) -> tuple[dict[str, str], dict[str, DType]]:
    pointers = {name: f"p{i}" for i, name in enumerate(program.tensors)}
    return pointers, {name: t.dtype for name, t in program.tensors.items()}


def _signature(program: Program, names: Names) -> str:
    readonly = [*program.inputs, *program.contents]
    args = [f"const {memory_type(names.types[n])}* __restrict {names.pointers[n]}" for n in readonly]
    args += [f"{memory_type(names.types[n])}* __restrict {names.pointers[n]}" for n in dict.fromkeys(program.outputs)]
    return f'extern "C" int64_t {ENTRY}({", ".join([*args, "char* work"])}) {{'


def _written(found: list[Group]) -> list[str]:
    return list(dict.fromkeys(n.target for g in found for n in g.nests))


def _workspace(program: Program, found: list[Group], rows: set[str]) -> tuple[dict[str, int], int]:
    """The places of temporaries in the work space; those of which only a row exists are on the stack."""
    layout, size = {}, 0
    for name in _written(found):
        if name in program.outputs or name in rows:
            continue
        t = program.tensors[name]
        layout[name] = size
        size += -(-t.numel * t.dtype.bits // 8 // _ALIGN) * _ALIGN + _ALIGN
    return layout, size


def _locals(program: Program, names: Names, layout: dict[str, int], found: list[Group]) -> list[str]:
    lines = []
    for name, offset in layout.items():
        kind = memory_type(names.types[name])
        lines.append(f"{kind}* __restrict {names.pointers[name]} = ({kind}*)(work + {offset});")
    for name in _written(found):
        t = program.tensors[name]
        lines.append(
            f"const size_t n_{names.pointers[name]} = {t.numel * t.dtype.bits // 8}; (void)n_{names.pointers[name]};"
        )
    return lines


def _group(group: Group, schedule: ProgramSchedule, names: Names, target: Target, number: int, at: int) -> list[str]:
    if not group.shared:
        prefix = f"g{number}"
        return ["{", *emit_nest(group.nests[0], schedule.nests[at], names, target, 0, prefix), "}"]
    parallel = all(schedule.nests[at + i].parallel for i in range(len(group.nests)))
    work = sum(n.iterations for n in group.nests)
    lines = ["{"]
    if parallel and work >= 1 << 15:
        lines.append(f"#pragma omp parallel for collapse({len(group.shared)}) schedule(static)")
    lines += [f"for (int64_t x_{a} = 0; x_{a} < {n}; x_{a}++) {{" for a, n in group.shared]
    for name, size in group.rows:
        lines.append(f"alignas(64) {memory_type(names.types[name])} {names.pointers[name]}[{size}];")
    for i, nest in enumerate(group.nests):
        lines += [
            "{",
            *emit_nest(nest, schedule.nests[at + i], names, target, len(group.shared), f"g{number}n{i}"),
            "}",
        ]
    return [*lines, *("}" for _ in group.shared), "}"]
