"""Lowers programs to nests for generated code: flat addresses, few axes, no scatters where avoidable.

In order: scatters with affine indices are turned inside out, so that each element is written once; updates without a
reduction become assignments that read the contents before; element-wise nests go into the nest that reads them, or
become the epilogue of the reduction that they read; accesses become flat loads; axes of extent 1 go; what divides an
axis splits it; neighbouring axes that are one line of memory everywhere become one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import prod

from ..expr.ir import (
    Access,
    Dynamic,
    Expr,
    Load,
    Nest,
    Program,
    TensorType,
    Var,
    accesses,
    integer,
    op,
    rebuild,
    substitute,
    var,
    variables,
    walk,
)
from ..program.affine import affine, bounds
from ..program.folding import fold, simplified
from ..program.prefixes import scan_of
from .ir import ACCUMULATOR, Loops, Scan
from .scatters import all_guarded, gathered
from .splits import divided, split

RESULT = "@result"


def lower(program: Program) -> list[Loops]:
    """Lowers every nest of a program, except for `collapsed`, which waits for the fusion of nests."""
    nests = [n if scan_of(n) else gathered(divided(n), program.tensors[n.target]) for n in program.nests]
    nests = _inlined([_assigned(n, program.tensors[n.target]) for n in nests], program)
    flat = (_flat(n, final, target, program.tensors) for n, final, target in _with_epilogues(nests, program))
    return [part for loops in flat for part in ([loops] if loops.scan else split(loops))]


# -- contents before, as something that is read ------------------------------------------------------------


def _assigned(nest: Nest, target: TensorType) -> Nest:
    """An update without a reduction as an assignment, which may be fused and inlined."""
    if nest.op == "=" or nest.reduced or not _covers(nest, target):
        return nest
    before = _before(nest, target)
    if nest.init or (before is None and nest.op == "+"):
        return replace(nest, op="=", init=True, base=None)
    if before is None:
        return nest
    return replace(nest, op="=", init=True, base=None, value=op(nest.op, before, nest.value))


def _before(nest: Nest, target: TensorType) -> Access | None:
    """The contents before at the place that is written."""
    if nest.base is None:
        return None
    return Access(target.dtype, nest.base, nest.index, tuple("inside" for _ in nest.index))


# -- fewer nests -------------------------------------------------------------------------------------------


def _readers(nests: Iterable[Nest]) -> dict[str, list[Nest]]:
    found: dict[str, list[Nest]] = {}
    for nest in nests:
        for e in (nest.value, *nest.index):
            for access in accesses(e):
                found.setdefault(access.tensor, []).append(nest)
        if nest.base:
            found.setdefault(nest.base, []).extend([nest, nest])
    return found


def _inlined(nests: list[Nest], program: Program) -> list[Nest]:
    """Puts an element-wise nest into its only reader, when that computes it no more often."""
    nests = list(nests)
    at = 0
    while at < len(nests):
        nest = nests[at]
        readers = _readers(nests).get(nest.target, [])
        fits = nest.op == "=" and nest.base is None and nest.target not in program.outputs and not nest.is_scatter
        fits = fits and len(readers) == 1 and not _checks(readers[0], nest.target)
        fits = fits and _covers(nest, program.tensors[nest.target])  # elsewhere it holds zeros
        if fits and _iterations(readers[0]) <= _iterations(nest):
            reader = nests.index(readers[0])
            nests[reader] = replace(nests[reader], value=_replaced(nests[reader].value, nest))
            del nests[at]
        else:
            at += 1
    return nests


def _checks(reader: Nest, tensor: str) -> bool:
    """Whether the reader's indices into a tensor are tested when it runs, which needs the tensor."""
    return any("checked" in a.guards for e in (reader.value, *reader.index) for a in accesses(e) if a.tensor == tensor)


def _iterations(nest: Nest) -> int:
    """How often the nest's value is computed."""
    scan = scan_of(nest)
    if scan is None:
        return prod(n for _, n in nest.axes)
    return max(nest.extents[scan.i], nest.extents[scan.j]) * prod(n for a, n in nest.axes if a not in (scan.i, scan.j))


def _replaced(e: Expr, nest: Nest) -> Expr:
    """The expression with reads of the nest's target replaced by the nest's value."""
    e = rebuild(e, lambda c: _replaced(c, nest))
    if not isinstance(e, Access) or e.tensor != nest.target:
        return e
    names = {i.name: index for i, index in zip(nest.index, e.indices, strict=True) if isinstance(i, Var)}
    value = substitute(nest.value, names)
    return all_guarded(value) if "guarded" in e.guards or "checked" in e.guards else value


def _with_epilogues(nests: list[Nest], program: Program) -> list[tuple[Nest, Expr | None, str]]:
    """Pairs a reduction with the element-wise nest that alone reads it."""
    found: list[tuple[Nest, Expr | None, str]] = []
    skip: set[str] = set()
    readers = _readers(nests)
    for at, whole in enumerate(nests):
        if whole.target in skip:
            continue
        nest, own = _started(whole, program.tensors[whole.target])
        reader = readers.get(nest.target, [])
        follows = at + 1 < len(nests) and len(reader) == 1 and reader[0].target == nests[at + 1].target
        final = _epilogue(nest, own, nests[at + 1], program) if follows else None
        if final is None:
            found.append((nest, own, nest.target))
        else:
            found.append((nest, final, nests[at + 1].target))
            skip.add(nests[at + 1].target)
    return found


def _started(nest: Nest, target: TensorType) -> tuple[Nest, Expr | None]:
    """A reduction that starts from its operator's identity, and an epilogue that joins the contents before."""
    before = _before(nest, target)
    if before is None or nest.op == "=" or nest.init or not _covers(nest, target):
        return nest, None
    hole = Load(nest.value.dtype, ACCUMULATOR, (), 0)
    return replace(nest, init=True, base=None), op(nest.op, before, hole)


def _epilogue(nest: Nest, own: Expr | None, reader: Nest, program: Program) -> Expr | None:
    """The reader's value in the nest's own variables, with the nest's result as `@acc`, or as its own epilogue."""
    plain = nest.base is None and reader.base is None and reader.op == "=" and not nest.is_scatter
    kinds = [program.tensors[each.target] for each in (nest, reader)]
    alike = kinds[0].shape == kinds[1].shape and all(map(_covers, (nest, reader), kinds))  # neither goes further
    if not plain or not alike or nest.target in program.outputs or reader.is_scatter:
        return None
    (access,) = [a for a in accesses(reader.value) if a.tensor == nest.target]
    same = access.indices == reader.index and all(g == "inside" for g in access.guards)
    ours = [i.name for i in nest.index if isinstance(i, Var)]
    theirs = [i.name for i in reader.index if isinstance(i, Var)]
    if not same or len(ours) != len(nest.index) or len(theirs) != len(ours) or _in_condition(reader.value, access):
        return None
    names: dict[str, Expr] = {t: var(o) for t, o in zip(theirs, ours, strict=True)}
    result = own or Load(access.dtype, ACCUMULATOR, (), 0)
    mark = Load(
        access.dtype, RESULT, (), 0
    )  # it has the nest's own variables, so it is put in after those of the reader are renamed

    def change(e: Expr, old: Expr, new: Expr) -> Expr:
        return new if e == old else rebuild(e, lambda c: change(c, old, new))

    return change(substitute(change(reader.value, access, mark), names), mark, result)


def _in_condition(value: Expr, access: Access) -> bool:
    """Whether an index of another access reads the accumulator, which would make a gather of it."""
    return any(access in accesses(i) for a in accesses(value) for i in a.indices)


# -- flat addresses ----------------------------------------------------------------------------------------


def _flat(nest: Nest, final: Expr | None, target: str, tensors: dict[str, TensorType]) -> Loops:
    gone: dict[str, Expr] = {a: integer(0) for a, n in nest.axes if n == 1}

    box = nest.box

    def lowered(e: Expr) -> Expr:
        return _loads(_without_needless_guards(simplified(substitute(e, gone), box), box, tensors), tensors)

    index = tuple(fold(substitute(i, gone)) for i in nest.index)
    kind = tensors[nest.target]
    covers = _covers(nest, kind)
    guards = tuple(
        "inside" if (b := bounds(i, box)) and b[0] >= 0 and b[1] < n else "guarded"
        for i, n in zip(index, kind.shape, strict=True)
    )
    places = tuple(_loads(i, tensors) for i in index)
    store = _load(Access(tensors[target].dtype, target, places, guards), kind, checked_if_guarded=True)
    left_names = set(nest.left)
    prefix = scan_of(nest)
    value, scan = nest.value, None
    if prefix is not None:
        i, j = ((a, nest.extents[a]) for a in (prefix.i, prefix.j))
        value, scan = prefix.value, Scan(i, j, prefix.offset, prefix.suffix)
    loops = [(a, n) for a, n in nest.axes if n > 1 and (prefix is None or a not in (prefix.i, prefix.j))]
    left = tuple((a, n) for a, n in loops if a in left_names)
    reduced = tuple((a, n) for a, n in loops if a not in left_names)
    return Loops(
        target, store, left, reduced, nest.op, nest.init, nest.base, covers, lowered(value),
        None if final is None else lowered(final), _shared_axes(nest, index) | _tested_axes(store), scan,
    )  # fmt: skip


def _without_needless_guards(e: Expr, box: dict[str, tuple[int, int]], tensors: dict[str, TensorType]) -> Expr:
    """Indices that stay inside whatever the conditions around them say; loads under a condition cost more."""
    e = rebuild(e, lambda c: _without_needless_guards(c, box, tensors))
    if not isinstance(e, Access):
        return e
    shape = tensors[e.tensor].shape
    spans = [bounds(i, box) for i in e.indices]
    inside = [s is not None and s[0] >= 0 and s[1] < n for s, n in zip(spans, shape, strict=True)]
    guards = ("inside" if g == "guarded" and i else g for g, i in zip(e.guards, inside, strict=True))
    return replace(e, guards=tuple(guards))


def _covers(nest: Nest, kind: TensorType) -> bool:
    if nest.is_scatter:
        return False
    sizes = [nest.extents[v[0]] if (v := variables(i)) else 1 for i in nest.index]
    return tuple(sizes) == kind.shape


def _shared_axes(nest: Nest, index: tuple[Expr, ...]) -> frozenset[str]:
    """The left axes that are not alone in one index, along which elements may be written twice."""
    if not nest.is_scatter:
        return frozenset()
    alone = [i.name for i in index if isinstance(i, Var)]
    used = [v for i in index for v in variables(i)]
    return frozenset(v for v in used if v not in alone or used.count(v) > 1)


def _tested_axes(store: Load) -> frozenset[str]:
    """The axes of indices that are computed one by one."""
    return frozenset(v for d in store.dynamic for v in variables(d.index))


def _loads(e: Expr, tensors: dict[str, TensorType]) -> Expr:
    e = rebuild(e, lambda c: _loads(c, tensors))
    return _load(e, tensors[e.tensor]) if isinstance(e, Access) else e


def _load(e: Access, kind: TensorType, checked_if_guarded: bool = False) -> Load:
    strides: dict[str, int] = {}
    offset, dynamic, guarded = 0, [], False
    for index, step, size, guard in zip(e.indices, kind.strides, kind.shape, e.guards, strict=True):
        form = affine(index)
        guarded = guarded or guard == "guarded"
        checked = guard == "checked" or (checked_if_guarded and guard == "guarded")
        if not form.is_plain or checked:
            dynamic.append(Dynamic(index, step, size, checked))
            continue
        offset += form.const * step
        for name, c in form.coefficients.items():
            strides[name] = strides.get(name, 0) + c * step
    flat = tuple((v, s) for v, s in strides.items() if s)
    return Load(e.dtype, e.tensor, flat, offset, tuple(dynamic), guarded, place=e.place)


# -- fewer axes --------------------------------------------------------------------------------------------


def collapsed(loops: Loops, shared: int = 0) -> Loops:
    """Merges neighbouring axes that every address steps through as one; the first `shared` ones stay."""
    pinned = {*loops.scatter, *(a for a, _ in loops.left[:shared])} | {
        n.name for e in loops.expressions() for n in walk(e) if isinstance(n, Var)
    }
    for side in ("left", "reduced"):
        axes = list(getattr(loops, side))
        at = 0
        while at + 1 < len(axes):
            (a, _), (b, n) = axes[at], axes[at + 1]
            loads = [x for e in loops.expressions() for x in walk(e) if isinstance(x, Load)]
            if a in pinned or b in pinned or any(x.stride(a) != x.stride(b) * n for x in loads):
                at += 1
                continue
            axes[at : at + 2] = [(b, axes[at][1] * n)]
            loops = _without(loops, a)
            merged = tuple(axes)
            loops = replace(loops, left=merged) if side == "left" else replace(loops, reduced=merged)
    return loops


def _without(loops: Loops, name: str) -> Loops:
    def change(e: Expr) -> Expr:
        e = rebuild(e, change)
        if isinstance(e, Load):
            return replace(e, strides=tuple((v, s) for v, s in e.strides if v != name))
        return e

    return loops.mapped(change)
