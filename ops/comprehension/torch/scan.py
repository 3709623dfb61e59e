"""Reductions over prefixes and suffixes on torch's operators: `cumsum`, `cumprod`, `cummax` and `cummin`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from ..expr.ir import Nest, var, variables
from ..program.identity import identity
from ..program.prefixes import Prefix, scan_of
from .values import Env

Whole = Callable[[Nest, Env], torch.Tensor]
"""Gives the values of a nest over its left axes, in the axes' order."""


def match_scan(nest: Nest, whole: Whole) -> Callable[[Env], torch.Tensor] | None:
    """A step that gives the values of a scan with one dimension for each of the target's; None of another nest."""
    prefix = scan_of(nest)
    if prefix is None:
        return None
    around = [a for a in nest.left if a != prefix.i]
    axes = tuple((a, nest.extents[a]) for a in (*around, prefix.j))
    added = replace(nest, axes=axes, index=tuple(var(a) for a, _ in axes), op="=", value=prefix.value)
    names = [*around, prefix.i]
    order = [names.index(v[0]) for i in nest.index if (v := variables(i))]
    places = _lengths(nest, prefix)
    is_whole = places == list(range(1, nest.extents[prefix.j] + 1))
    is_reversed = places == list(range(nest.extents[prefix.j], 0, -1))

    def step(env: Env) -> torch.Tensor:
        values = whole(added, env)
        totals = _running(nest.op, values.flip(-1) if prefix.suffix else values)
        if is_reversed:
            totals = totals.flip(-1)
        elif not is_whole:
            start = identity(nest.op, nest.value.dtype).value
            nothing = torch.full((*totals.shape[:-1], 1), start, dtype=totals.dtype, device=totals.device)
            totals = torch.cat([nothing, totals], -1)
            totals = totals.index_select(-1, torch.tensor(places, device=totals.device))
        return totals.permute(order)

    return step


def _lengths(nest: Nest, prefix: Prefix) -> list[int]:
    """How many values count at each place."""
    n, m = nest.extents[prefix.i], nest.extents[prefix.j]
    counts = [m - (i + prefix.offset) if prefix.suffix else i + prefix.offset + 1 for i in range(n)]
    return [min(max(count, 0), m) for count in counts]


def _running(op: str, values: torch.Tensor) -> torch.Tensor:
    match op:
        case "+":
            return values.cumsum(-1, dtype=values.dtype)
        case "*":
            return values.cumprod(-1, dtype=values.dtype)
        case "max":
            return values.cummax(-1).values
    return values.cummin(-1).values
