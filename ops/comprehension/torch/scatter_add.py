"""Scatters on torch's operators: by views where the indices are affine, else with `index_add_`."""

from __future__ import annotations

import torch

from ..expr.dtypes import stored
from ..expr.ir import Nest, TensorType, Var, variables
from ..program.affine import affine
from .values import Env, Evaluator, held


def own(base: torch.Tensor, consume: bool) -> torch.Tensor:
    """A tensor with the contents before, to write into: with `consume` the contents themselves, else a copy."""
    return base if consume else base.clone(memory_format=torch.contiguous_format)


def scattered(
    nest: Nest, target: TensorType, env: Env, values: torch.Tensor, clamp: bool, consume: bool
) -> torch.Tensor:
    """The target with each value added where its index says.

    Args:
        nest: a nest whose index is more than plain variables, or leaves out elements.
        target: the tensor that is written.
        env: the tensors by version.
        values: of the nest, over its left axes in their order.
        clamp: clamp indices that are found outside.
        consume: whether it may write into the nest's base.
    """
    total = (
        torch.zeros(target.shape, dtype=held(target.dtype), device=values.device)
        if nest.base is None
        else own(env[nest.base], consume)
    )
    if total.numel() and not _add_by_views(nest, target, total, values):  # into nothing nothing is added
        _add_by_index(nest, target, total, values, env, clamp)
    return total.to(stored(target.dtype))


def _add_by_views(nest: Nest, target: TensorType, total: torch.Tensor, values: torch.Tensor) -> bool:
    """Adds slices through strided views, one for each value of the variables that would make a view overlap."""
    forms = [affine(i) for i in nest.index]
    spans = [sum(abs(c) * (nest.extents[v] - 1) for v, c in f.coefficients.items()) + f.const for f in forms]
    inside = all(s < n for s, n in zip(spans, target.shape, strict=True))
    if not inside or not all(
        f.is_plain and f.const >= 0 and min(f.coefficients.values(), default=1) > 0 for f in forms
    ):
        return False
    looped: list[str] = []
    for form in forms:
        names = sorted(form.coefficients, key=nest.extents.__getitem__)
        looped += [n for n in names[:-1] if n not in looped]
    left = nest.left
    strides = {v: sum(f.coefficients.get(v, 0) * s for f, s in zip(forms, target.strides, strict=True)) for v in left}
    offset = sum(f.const * s for f, s in zip(forms, target.strides, strict=True))
    _add_slices(total, values, left, looped, strides, offset)
    return True


def _add_slices(
    total: torch.Tensor,
    values: torch.Tensor,
    left: list[str],
    looped: list[str],
    strides: dict[str, int],
    offset: int,
) -> None:
    if looped:
        name, dim = looped[0], left.index(looped[0])
        rest = [v for v in left if v != name]
        for at in range(values.shape[dim]):
            _add_slices(total, values.select(dim, at), rest, looped[1:], strides, offset + at * strides[name])
        return
    total.as_strided(values.shape, [strides[v] for v in left], offset).add_(values)


def _add_by_index(
    nest: Nest, target: TensorType, total: torch.Tensor, values: torch.Tensor, env: Env, clamp: bool
) -> None:
    """One flat `index_add_`, of whole rows where only the first dimension is not plain."""
    window = {a: (0, n) for a, n in nest.axes}
    left = nest.left
    evaluator = Evaluator(env, left, window, clamp)
    trailing = [i.name if isinstance(i, Var) else "" for i in nest.index[1:]]
    first = variables(nest.index[0])
    rows = left == [*first, *trailing] and all(
        t and nest.extents[t] == n for t, n in zip(trailing, target.shape[1:], strict=True)
    )
    if rows and len(set(left)) == len(first) + len(trailing):
        index = evaluator.over(first)
        flat = index.tensor(nest.index[0]).expand(index.shape).reshape(-1).to(torch.int64)
        total.index_add_(0, flat.clamp(0, target.shape[0] - 1), values.reshape(-1, *target.shape[1:]))
        return
    place = torch.zeros([1] * len(left), dtype=torch.int64, device=values.device)
    for index_expr, size, step in zip(nest.index, target.shape, target.strides, strict=True):
        place = place + evaluator.tensor(index_expr).to(torch.int64).clamp(0, size - 1) * step
    total.view(-1).index_add_(0, place.expand(values.shape).reshape(-1), values.reshape(-1))
