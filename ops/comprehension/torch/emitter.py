"""Runs programs on torch operators: the reference for every other emitter, on every machine.

Each nest becomes one step, chosen once: a convolution of torch's, a bag of embeddings, a contraction, or the
general form, which evaluates the value over all axes and reduces. The general form is cut into windows, so that
no tensor of more than `LIMIT` elements is made only to be reduced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

import torch

from ..expr.dtypes import stored
from ..expr.errors import index_outside
from ..expr.ir import Access, Expr, Nest, Program, TensorType, Var, accesses, variables
from ..program.affine import affine
from ..program.identity import identity
from .convolution import match_convolution
from .products import Product, contract, is_contraction, largest_operand, split_product
from .scan import match_scan
from .scatter_add import own, scattered
from .unsigned import in_order, is_ordered, ordered
from .values import Env, Evaluator, Window, held

LIMIT = 1 << 24
"""The most elements that one step may materialise besides its result."""


class TorchEmitter:
    """Runs a program on torch operators.

    Args:
        program: the program to run.
        clamp: clamp indices that are found outside, instead of raising.

    Example:
        >>> TorchEmitter(program)([a, b])  # doctest: +SKIP
        [tensor(...)]
    """

    def __init__(self, program: Program, clamp: bool = False) -> None:
        self._program = program
        self._steps = [(_step(n, program, clamp, n.base in d), n.target, d) for n, d in _with_dead(program)]

    def __call__(self, inputs: Sequence[torch.Tensor], contents: Sequence[torch.Tensor] = ()) -> list[torch.Tensor]:
        """Runs on contiguous inputs of the program's shapes; the results are contiguous and new.

        Raises:
            IndexRangeError: an index read from a tensor lies outside.
        """
        p = self._program
        env = dict(zip((*p.inputs, *p.contents), (*inputs, *contents), strict=True))
        for step, target, dead in self._steps:
            env[target] = step(env)
            for name in dead:
                del env[name]
        return [env[name] for name in p.outputs]


def _with_dead(program: Program) -> list[tuple[Nest, list[str]]]:
    """Each nest with the versions that nothing needs after it."""
    last: dict[str, int] = {}
    for at, nest in enumerate(program.nests):
        for name in (
            nest.target,
            nest.base,
            *(a.tensor for e in (nest.value, *nest.index) for a in accesses(e)),
        ):
            if name is not None:
                last[name] = at
    keep = {*program.outputs, *program.inputs, *program.contents}
    dead: list[list[str]] = [[] for _ in program.nests]
    for name, at in last.items():
        if name not in keep:
            dead[at].append(name)
    return list(zip(program.nests, dead, strict=True))


def _step(nest: Nest, program: Program, clamp: bool, consume: bool) -> Callable[[Env], torch.Tensor]:
    """Chooses how a nest runs; with `consume` it may write into its base, which nothing needs after it."""
    target = program.tensors[nest.target]
    if is_ordered(nest, program):
        return _step_in_order(nest, program, clamp)
    if 0 in nest.extents.values():
        return lambda env: _of_nothing(nest, target, env, consume)
    convolution = match_convolution(nest, program.tensors)
    if convolution is not None:
        return _finished(nest, target, convolution, consume)
    if (bag := _match_bag(nest, program.tensors, clamp)) is not None:
        return _finished(nest, target, bag, consume)
    if (view := _match_reduced_view(nest, program.tensors)) is not None:
        return _finished(nest, target, view, consume)
    if _covers(nest, target) and (scan := match_scan(nest, lambda n, env: _whole(n, env, clamp))) is not None:
        return _finished(nest, target, scan, consume)
    if nest.is_scatter or (nest.base is None and not _fits(nest, target)):
        return lambda env: scattered(nest, target, env, _whole(nest, env, clamp), clamp, consume)
    return _finished(nest, target, lambda env: _in_target_order(nest, env, clamp), consume)


def _step_in_order(nest: Nest, program: Program, clamp: bool) -> Callable[[Env], torch.Tensor]:
    """A step on int64 in place of uint64, which torch does not compare."""
    inner, among, base = in_order(nest, program)
    run = _step(inner, among, clamp, consume=True)

    def step(env: Env) -> torch.Tensor:
        if base is not None and nest.base is not None:
            env = {**env, base: ordered(env[nest.base].view(torch.int64))}
        return ordered(run(env)).view(torch.uint64)

    return step


def _of_nothing(nest: Nest, target: TensorType, env: Env, consume: bool) -> torch.Tensor:
    """A nest that never runs: the contents before, or the operator's identity where it starts from that."""
    device = next((t.device for t in env.values()), torch.device("cpu"))
    start = identity(nest.op, target.dtype).value if nest.init and nest.op != "=" else 0
    if nest.base is None:
        return torch.full(target.shape, start, dtype=stored(target.dtype), device=device)
    result = own(env[nest.base], consume)
    if nest.init and nest.op != "=" and not nest.is_scatter and all(nest.extents[a] for a in nest.left):
        shape = [nest.extents[v[0]] if (v := variables(i)) else 1 for i in nest.index]
        return _onto_base(nest, result, torch.full(shape, start, dtype=result.dtype, device=device))
    return result


def _covers(nest: Nest, target: TensorType) -> bool:
    """Whether a nest that is no scatter writes every element."""
    sizes = [nest.extents[v[0]] if (v := variables(i)) else 1 for i in nest.index]
    return tuple(sizes) == target.shape


def _finished(
    nest: Nest, target: TensorType, values: Callable[[Env], torch.Tensor], consume: bool
) -> Callable[[Env], torch.Tensor]:
    """Joins a step's values with the contents before, and makes the result contiguous and its own.

    What a gradient's nest does not reach is zero: an input may be read at some of its places only.
    """
    dtype = stored(target.dtype)
    is_part = nest.base is None and not nest.is_scatter and not _covers(nest, target)

    def step(env: Env) -> torch.Tensor:
        found = values(env)
        if found.dtype != dtype:
            found = found.to(dtype)
        if nest.base is not None:
            return _onto_base(nest, own(env[nest.base], consume), found)
        if is_part:
            result = torch.zeros(target.shape, dtype=dtype, device=found.device)
            region = _region(nest, result)
            region.copy_(found.reshape(region.shape))
            return result
        result = found.contiguous()
        memory = result.untyped_storage().data_ptr()
        if any(memory == t.untyped_storage().data_ptr() for t in env.values()):
            result = result.clone(memory_format=torch.contiguous_format)
        return result

    return step


def _onto_base(nest: Nest, result: torch.Tensor, found: torch.Tensor) -> torch.Tensor:
    """Sets or accumulates into the region that the nest reaches."""
    region = result if nest.is_scatter else _region(nest, result)
    region.copy_((found if nest.init else combined(nest.op, region, found.reshape(region.shape))).reshape(region.shape))
    return result


def _fits(nest: Nest, target: TensorType) -> bool:
    """Whether every place that a nest writes lies in its target: of a gradient's, some may not."""
    ends = [(affine(index).const, *(nest.extents[v] for v in affine(index).coefficients)) for index in nest.index]
    return all(
        start >= 0 and start + (sum(n) if n else 1) <= size
        for (start, *n), size in zip(ends, target.shape, strict=True)
    )


def _region(nest: Nest, result: torch.Tensor) -> torch.Tensor:
    """The part of its target that a nest reaches, which is no scatter."""
    for dim, index in enumerate(nest.index):
        form = affine(index)
        name = next(iter(form.coefficients), None)
        result = result.narrow(dim, form.const, nest.extents[name] if name else 1)
    return result


def combined(op: str, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """One step of a reduction."""
    match op:
        case "+":
            return a + b
        case "*":
            return a * b
        case "max":
            return torch.maximum(a, b)
    return torch.minimum(a, b) if op == "min" else b


def _reduce(op: str, t: torch.Tensor, dims: list[int]) -> torch.Tensor:
    """Reduces dimensions; NaN wins in max and min, as everywhere in torch."""
    if not dims:
        return t
    match op:
        case "+":
            return t.sum(dims, dtype=t.dtype)
        case "max":
            return t.amax(dims)
        case "min":
            return t.amin(dims)
    for dim in sorted(dims, reverse=True):
        t = t.prod(dim, dtype=t.dtype)
    return t


# -- plain nests -------------------------------------------------------------------------------------------


def _whole(nest: Nest, env: Env, clamp: bool) -> torch.Tensor:
    """The values over the nest's left axes, in the axes' order."""
    return windowed(nest, env, {a: (0, n) for a, n in nest.axes}, clamp)


def _in_target_order(nest: Nest, env: Env, clamp: bool) -> torch.Tensor:
    """The values with one dimension for each of the target's, of a nest that is no scatter."""
    left = nest.left
    names = [v[0] if (v := variables(i)) else None for i in nest.index]
    found = _whole(nest, env, clamp).permute([left.index(n) for n in names if n is not None])
    return found.reshape([1 if n is None else nest.extents[n] for n in names])


def windowed(nest: Nest, env: Env, window: Window, clamp: bool) -> torch.Tensor:
    """The nest's values over its left axes in a window, which is cut in two while it is too large."""
    left, reduced = nest.left, nest.reduced
    product = split_product(nest.value, left) if nest.op == "+" else Product(1, (nest.value,))
    contracts = is_contraction(product, reduced)
    size = (
        largest_operand(product, left, window) if contracts else prod(stop - start for start, stop in window.values())
    )
    result_size = prod(window[a][1] - window[a][0] for a in left)
    axis = _axis_to_cut(nest, product if contracts else None, window)
    if size > max(LIMIT, result_size) and axis is not None:
        return _cut_in_two(nest, env, window, clamp, axis)
    values = Evaluator(env, [*left, *reduced], window, clamp)
    if contracts:
        found = contract(product, left, reduced, values, window)
    else:
        full = values.tensor(nest.value)
        if reduced:
            full = full.expand(*full.shape[: len(left)], *values.shape[len(left) :])
        found = _reduce(nest.op, full, list(range(len(left), len(left) + len(reduced))))
    shape = tuple(window[a][1] - window[a][0] for a in left)
    return found if found.shape == shape else found.expand(shape)


def _axis_to_cut(nest: Nest, product: Product | None, window: Window) -> str | None:
    """The longest axis of what is too large, one of the left side's where there is one."""
    used = set(window)
    if product is not None:
        used = set(max((variables(f) for f in product.factors), key=lambda names: prod(window[a][1] for a in names)))
    lengths = {a: window[a][1] - window[a][0] for a in window if a in used}
    for names in (nest.left, nest.reduced):
        axis = max((a for a in names if a in lengths), key=lengths.__getitem__, default=None)
        if axis is not None and lengths[axis] > 1:
            return axis
    return None


def _cut_in_two(nest: Nest, env: Env, window: Window, clamp: bool, axis: str) -> torch.Tensor:
    start, stop = window[axis]
    middle = (start + stop) // 2
    a, b = (windowed(nest, env, {**window, axis: part}, clamp) for part in ((start, middle), (middle, stop)))
    if axis in nest.left:
        return torch.cat([a, b], nest.left.index(axis))
    return combined(nest.op, a, b)


def _match_reduced_view(nest: Nest, tensors: Mapping[str, TensorType]) -> Callable[[Env], torch.Tensor] | None:
    """A reduction of one whole tensor along some of its dimensions, which needs no planning at a call."""
    value = nest.value
    if nest.op == "=" or nest.is_scatter or not isinstance(value, Access) or not nest.reduced:
        return None
    names = [_name(i) for i in value.indices]
    left = [n for n in names if n in nest.left]
    shape = tuple(nest.extents.get(n, -1) for n in names)
    whole = len(set(names)) == len(names) == len(nest.axes) and shape == tensors[value.tensor].shape
    if not whole or left != [_name(i) for i in nest.index] or held(value.dtype) != stored(value.dtype):
        return None
    dims = [d for d, n in enumerate(names) if n not in nest.left]
    return lambda env: _reduce(nest.op, env[value.tensor], dims)


# -- bags of embeddings ------------------------------------------------------------------------------------


def _match_bag(nest: Nest, tensors: Mapping[str, TensorType], clamp: bool) -> Callable[[Env], torch.Tensor] | None:
    """The bag of embeddings of a nest `O(i, j) +=! T(I(i, k), j)`, or None."""
    table = nest.value
    if clamp or nest.op != "+" or not isinstance(table, Access) or len(table.indices) != 2 or nest.is_scatter:
        return None
    rows, column = table.indices
    if not isinstance(rows, Access) or len(rows.indices) != 2 or not isinstance(column, Var):
        return None
    if not table.dtype.name.startswith("float"):
        return None
    names = [i.name if isinstance(i, Var) else "" for i in rows.indices]
    left, reduced = nest.left, nest.reduced
    plain = [left[0] if left else None, reduced[0] if reduced else None] == names and left[1:] == [column.name]
    whole = all(tensors[a.tensor].shape[d] == nest.extents.get(_name(i), -1) for a, d, i in _dims(rows, table))
    if not plain or not whole or rows.dtype.name not in ("int32", "int64"):
        return None
    size = tensors[table.tensor].shape[0]

    def step(env: Env) -> torch.Tensor:
        index = env[rows.tensor]
        low, high = torch.aminmax(index)
        if int(low) < 0 or int(high) >= size:
            raise index_outside(table.tensor, size, table.place, 0)
        return torch.nn.functional.embedding_bag(index, env[table.tensor], mode="sum")

    return step


def _name(e: Expr) -> str:
    return e.name if isinstance(e, Var) else ""


def _dims(rows: Access, table: Access) -> list[tuple[Access, int, Expr]]:
    return [(rows, 0, rows.indices[0]), (rows, 1, rows.indices[1]), (table, 1, table.indices[1])]
