"""Groups neighbouring lowered nests that share outer loops, and finds temporaries that then need only one row.

Fusing pays where the nests stream over the same rows (softmax, norms); it does not where a nest reuses a large
tensor for every row (a matrix product), because it loses the tile of registers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from ..expr.ir import Expr, Load, Program, TensorType, rebuild
from .ir import Loops
from .lower import collapsed, lower

REUSED = 4096
"""Elements that a nest may reread for every row and still be fused."""
ROW_BYTES = 1 << 16
"""Bytes of the stack that the rows of one group's temporaries may take."""


@dataclass(frozen=True)
class Group:
    """Nests under common outer loops.

    Attributes:
        shared: the common axes with their extents; empty for a nest of its own.
        nests: in order, their shared axes renamed to the common names.
        rows: temporaries of which only the current row exists, with its elements.
    """

    shared: tuple[tuple[str, int], ...]
    nests: tuple[Loops, ...]
    rows: tuple[tuple[str, int], ...] = ()


def groups(program: Program, fuse: bool) -> list[Group]:
    """Lowers a program and groups its nests."""
    found: list[Group] = []
    pending = lower(program)
    while pending:
        taken, shared = _most(pending, program.tensors) if fuse else (pending[:1], 0)
        pending = [n for n in pending if not any(n is t for t in taken)]
        found.append(_group(taken, shared, pending, program) if shared else Group((), (collapsed(taken[0]),)))
    return found


def _most(nests: list[Loops], tensors: dict[str, TensorType]) -> tuple[list[Loops], int]:
    """The most nests that can be fused with the first, and over how many axes; 0 where it stays alone."""
    best, axes = nests[:1], 0
    for shared in range(1, len(nests[0].left) + 1):
        taken = _fitting(nests, shared, tensors)
        if len(taken) > 1 and len(taken) >= len(best):
            best, axes = taken, shared
    return best, axes


def _fitting(nests: list[Loops], shared: int, tensors: dict[str, TensorType]) -> list[Loops]:
    """The nests that fit to the first, past those between that they do not need."""
    taken, behind = nests[:1], set[str]()
    for nest in nests[1:]:
        needs = {x.tensor for x in nest.loads()} | {nest.base}
        if not needs & behind and _fits([*taken, nest], shared, tensors):
            taken = [*taken, nest]
        else:
            behind.add(nest.target)
    return taken


def _fits(nests: list[Loops], shared: int, tensors: dict[str, TensorType]) -> bool:
    """Whether all of the nests can run row by row."""
    first, last = nests[0], nests[-1]
    if any(len(n.left) < shared or n.scatter or not n.covers or n.base or n.scan for n in nests):
        return False
    if all(len(n.extents) == shared for n in nests):
        return False  # no axis would be left to compute side by side
    if [n for _, n in last.left[:shared]] != [n for _, n in first.left[:shared]]:
        return False
    if len(nests) == 2 and not _streams(first, shared, tensors):
        return False
    return _streams(last, shared, tensors) and all(_reads_row(last, n, shared) for n in nests[:-1])


def _streams(nest: Loops, shared: int, tensors: dict[str, TensorType]) -> bool:
    """Whether a row of the nest reads rows, neither all of a large tensor nor a column of one."""
    names = [a for a, _ in nest.left[:shared]]
    inner = [a for a in nest.extents if a not in names]
    for load in nest.loads():
        if tensors[load.tensor].numel <= REUSED or load.dynamic:
            continue
        column = any(abs(load.stride(a)) == 1 for a in names) and any(load.stride(a) for a in inner)
        if column or not all(load.stride(a) for a in names):
            return False
    return True


def _reads_row(reader: Loops, writer: Loops, shared: int) -> bool:
    """Whether the reader needs of the writer's target only the row that the shared axes are at."""
    for load in reader.loads():
        if load.tensor != writer.target:
            continue
        if load.dynamic or load.guarded:
            return False
        pairs = list(zip(reader.left[:shared], writer.left[:shared], strict=True))
        if any(load.stride(a) != writer.store.stride(b) for (a, _), (b, _) in pairs):
            return False
        names = {a for (a, _), _ in pairs}
        extents = reader.extents
        rest = sum(abs(s) * (extents[v] - 1) for v, s in load.strides if v not in names)
        if load.offset + rest >= min(abs(load.stride(a)) for a in names):
            return False
    return True


def _group(nests: list[Loops], shared: int, later: list[Loops], program: Program) -> Group:
    # No index variable of a text begins with a digit.
    axes = tuple((f"{i}row", n) for i, (_, n) in enumerate(nests[0].left[:shared]))
    renamed = [n.renamed({a: r for (a, _), (r, _) in zip(n.left, axes, strict=False)}) for n in nests]
    outside = {x.tensor for n in later for x in n.loads()} | {n.base for n in later} | set(program.outputs)
    rows: list[tuple[str, int]] = []
    room = ROW_BYTES
    targets = [n.target for n in renamed]
    for nest in renamed:
        size = prod(n for _, n in nest.left[shared:])
        room -= 8 * size
        whole = targets.count(nest.target) == 1
        if whole and nest.target not in outside and room >= 0:
            rows.append((nest.target, size))
    names = {name for name, _ in rows}
    dropped = [_in_row(n, names, {a for a, _ in axes}) for n in renamed]
    return Group(axes, tuple(collapsed(n, shared) for n in dropped), tuple(rows))


def _in_row(nest: Loops, rows: set[str], axes: set[str]) -> Loops:
    """The expression with addresses of row temporaries without the shared axes."""

    def change(e: Expr) -> Expr:
        e = rebuild(e, change)
        if isinstance(e, Load) and e.tensor in rows:
            return replace(e, strides=tuple((v, s) for v, s in e.strides if v not in axes))
        return e

    return nest.mapped(change)
