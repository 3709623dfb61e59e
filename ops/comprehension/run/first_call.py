"""Holds the first call of a compiled kernel against torch's operators, on a sample of the places of its outputs.

A kernel's code rests on a compiler and its flags; this is the net below them. Loops have other bodies where an axis
ends, so the sample has the first and the last places of every axis, also of one with the first of the others, and some
in the middle. Only what these places depend on is computed: a few rows of a softmax, a few sums of a matrix product.
`Options(check=False)` leaves it out.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from math import prod

import torch

from ..expr.dtypes import stored
from ..expr.errors import ComprehensionWarning, IndexRangeError
from ..expr.ir import Nest, Program, accesses, variables
from ..program.affine import affine, bounds
from ..program.prefixes import scan_of
from ..torch.emitter import TorchEmitter, combined, windowed
from ..torch.unsigned import is_ordered

AT_ONCE = 3
"""Places along each dimension, at its beginning, at its end and in the middle."""
ENOUGH = 1 << 20
"""Steps beyond which a region is left out, but for the first and the last places of all axes."""

Region = list[tuple[int, int]]
"""First place and one past the last, for each dimension."""


MOST_PAIRS = 1 << 22
"""Pairs of places of a running total that are added one by one; of more, torch's operator for it is the reference."""
NOISE = 64
"""How often the change that a last bit of the inputs makes may be between two orders of sums."""


def close(a: torch.Tensor, b: torch.Tensor, noise: float = 0.0) -> bool:
    """Whether two results agree, within what another order of sums may change, or within an amount given."""
    if not a.is_floating_point():
        return bool(torch.equal(a, b))
    tolerance = {torch.bfloat16: 8e-2, torch.float16: 2e-2, torch.float32: 1e-3, torch.float64: 1e-9}[a.dtype]
    scale = float(b.abs().nan_to_num(0, 0, 0).max()) if b.numel() else 1.0
    return torch.allclose(a, b, rtol=tolerance, atol=max(tolerance * scale, 1e-30, noise), equal_nan=True)


@torch.no_grad()
def check_first_call(
    program: Program,
    clamp: bool,
    inputs: Sequence[torch.Tensor],
    contents: Sequence[torch.Tensor],
    outputs: Sequence[torch.Tensor],
) -> TorchEmitter | None:
    """What to run instead of a kernel whose outputs are not those of torch's operators; None where they agree."""
    try:
        for regions in _sample(program):
            expected = _computed(program, clamp, (*inputs, *contents), regions)
            parts = [
                (_part(found, regions[name]), _part(expected[name], regions[name]))
                for name, found in zip(program.outputs, outputs, strict=True)
            ]
            if all(close(a, b) for a, b in parts):
                continue
            again = _computed(program, clamp, (*_nudged(inputs), *contents), regions)
            for name, (a, b) in zip(program.outputs, parts, strict=True):
                if not close(a, b, _noise(_part(again[name], regions[name]), b)):
                    raise _DisagreesError
    except (_DisagreesError, IndexRangeError):
        warnings.warn(
            f"the compiled kernel of '{program.name}' does not compute what torch's operators do, which run instead; "
            "please report it with its text and sizes",
            ComprehensionWarning,
            stacklevel=2,
        )
        return TorchEmitter(program, clamp)
    return None


class _DisagreesError(Exception):
    pass


def _nudged(inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """The inputs, a last bit more or less.

    What that changes is noise: a gradient whose terms cancel, such as that of the squares of a normalisation, is
    little else, and no order of its sums is the right one.
    """
    at_random = torch.Generator().manual_seed(0)
    found = []
    for t in inputs:
        if t.is_floating_point():
            sign = torch.randint(0, 2, t.shape, generator=at_random).to(t.dtype) * 2 - 1
            found.append(t + t * sign * torch.finfo(t.dtype).eps)
        else:
            found.append(t)
    return found


def _noise(a: torch.Tensor, b: torch.Tensor) -> float:
    if not b.is_floating_point() or not b.numel():
        return 0.0
    return NOISE * float((a - b).abs().nan_to_num(0, 0, 0).max())


def _sample(program: Program) -> Iterator[dict[str, Region]]:
    """Regions of every output, each combination once; only the first two where a region is much work."""
    seen = list[dict[str, Region]]()
    # For each dimension in turns, what share of it lies before the region.
    for number, shares in enumerate(((0.0, 0.0), (1.0, 1.0), (0.0, 1.0), (1.0, 0.0), (0.5, 0.5))):
        regions = {name: _region(program.tensors[name].shape, shares) for name in program.outputs}
        if number >= 2 and sum(prod(b - a for a, b in w) for w in _windows(program, regions).values()) > ENOUGH:
            continue
        if regions not in seen:
            seen.append(regions)
            yield regions


def _region(shape: tuple[int, ...], shares: tuple[float, float]) -> Region:
    starts = [int(shares[dim % 2] * max(0, n - AT_ONCE)) for dim, n in enumerate(shape)]
    return [(start, min(n, start + AT_ONCE)) for start, n in zip(starts, shape, strict=True)]


def _part(t: torch.Tensor, region: Region) -> torch.Tensor:
    return t[tuple(slice(low, high) for low, high in region)]


def _computed(
    program: Program, clamp: bool, given: Sequence[torch.Tensor], regions: dict[str, Region]
) -> dict[str, torch.Tensor]:
    """The tensors, right within the regions that are asked for."""
    windows = _windows(program, regions)
    env = dict(zip((*program.inputs, *program.contents), given, strict=True))
    for nest in program.nests:
        if nest.target in windows:
            env[nest.target] = _run(nest, windows[nest.target], program, env, clamp)
    return env


def _windows(program: Program, regions: dict[str, Region]) -> dict[str, Region]:
    """Which values of each nest's axes the regions depend on."""
    needed: dict[str, Region] = dict(regions)
    windows: dict[str, Region] = {}
    for nest in reversed(program.nests):
        if nest.target in needed:
            windows[nest.target] = _window(nest, needed[nest.target])
            _add_needs(nest, windows[nest.target], needed, program)
    return windows


def _window(nest: Nest, region: Region) -> Region:
    """Which values of the axes reach a region, in the axes' order; all of them of a scatter."""
    spans = {a: (0, n) for a, n in nest.axes}
    if not nest.is_scatter:
        for index, (low, high) in zip(nest.index, region, strict=True):
            if names := variables(index):
                start = affine(index).const
                first, end = spans[names[0]]
                spans[names[0]] = max(first, low - start), max(first, min(end, high - start))
    return list(spans.values())


def _add_needs(nest: Nest, window: Region, needed: dict[str, Region], program: Program) -> None:
    """Adds what a nest reads over a window."""
    box = {a: (low, high - 1) for (a, _), (low, high) in zip(nest.axes, window, strict=True)}
    if nest.base is not None:
        shape = program.tensors[nest.base].shape
        _join(needed, nest.base, needed[nest.target] if not nest.is_scatter else [(0, n) for n in shape])
    if any(low > high for low, high in box.values()):
        return
    for access in (a for e in (nest.value, *nest.index) for a in accesses(e)):
        shape = program.tensors[access.tensor].shape
        spans = [bounds(i, box) or (0, n - 1) for i, n in zip(access.indices, shape, strict=True)]
        region = [
            (max(0, min(low, n - 1)), max(0, min(high, n - 1)) + 1) for (low, high), n in zip(spans, shape, strict=True)
        ]
        _join(needed, access.tensor, region)


def _join(needed: dict[str, Region], name: str, region: Region) -> None:
    before = needed.get(name, region)
    needed[name] = [(min(a, c), max(b, d)) for (a, b), (c, d) in zip(before, region, strict=True)]


def _run(nest: Nest, window: Region, program: Program, env: dict[str, torch.Tensor], clamp: bool) -> torch.Tensor:
    """The nest's target, right where the window reaches."""
    spans = {a: span for (a, _), span in zip(nest.axes, window, strict=True)}
    sizes = [high - low for low, high in window]
    is_whole = nest.is_scatter or is_ordered(nest, program) or (scan_of(nest) and prod(sizes) > MOST_PAIRS)
    is_reached = min(sizes, default=1) > 0
    if 0 in nest.extents.values() or (is_whole and is_reached):
        return _run_whole(nest, program, env, clamp)
    result = _zeros(program, nest.target) if nest.base is None else env[nest.base].clone()
    if not is_reached:
        return result
    values = windowed(nest, env, spans, clamp)
    target, names = result, nest.left
    for dim, index in enumerate(nest.index):
        name = next(iter(variables(index)), None)
        low, high = spans[name] if name is not None else (0, 1)
        target = target.narrow(dim, affine(index).const + low, high - low)
    order = [names.index(v[0]) for i in nest.index if (v := variables(i))]
    values = values.permute(order).reshape(target.shape)
    if nest.base is not None and not nest.init:
        values = combined(nest.op, target, values)
    target.copy_(values)
    return result


def _run_whole(nest: Nest, program: Program, env: dict[str, torch.Tensor], clamp: bool) -> torch.Tensor:
    """The nest's target as torch's operators compute it; nothing computed what a nest without iterations reads."""
    read = [a.tensor for e in (nest.value, *nest.index) for a in accesses(e)]
    inputs = tuple(dict.fromkeys([*read, *([nest.base] if nest.base is not None else [])]))
    alone = Program(program.name, inputs, (nest.target,), program.tensors, (nest,))
    return TorchEmitter(alone, clamp)([env[n] if n in env else _zeros(program, n) for n in inputs])[0]


def _zeros(program: Program, name: str) -> torch.Tensor:
    kind = program.tensors[name]
    return torch.zeros(kind.shape, dtype=stored(kind.dtype))
