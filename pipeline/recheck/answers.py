"""Compares the result of a pipeline with that of the function: containers, types, strides and values."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import torch

from ...ops.runtime.primitives.named_tuples import as_named_tuple


def difference(wanted: Any, got: Any, *, values: bool = True, exact: bool = False) -> str:
    """What differs between two results in a few words; empty if nothing does.

    Args:
        wanted: what the function gave.
        got: what the pipeline gave.
        values: whether to compare values, and not only types and shapes.
        exact: whether floating-point values must have the same bits; otherwise they may differ by as much as another
            order of summation makes.
    """
    inner = partial(difference, values=values, exact=exact)
    if (record := as_named_tuple(wanted)) is not None:  # which an archive gives for a dataclass
        wanted = record
    if isinstance(wanted, torch.Tensor):
        return _of_tensors(wanted, got, values, exact)
    if isinstance(wanted, np.str_):  # an archive gives the same text as a str
        wanted, got = str(wanted), str(got) if isinstance(got, str) else got
    if isinstance(wanted, np.ndarray | np.generic):
        return _of_arrays(wanted, got, values, exact)
    if _kind(wanted) != _kind(got):
        return f"a {type(got).__name__} instead of a {type(wanted).__name__}"
    if isinstance(wanted, tuple | list):
        if len(wanted) != len(got):
            return f"{len(got)} items instead of {len(wanted)}"
        return next((found for a, b in zip(wanted, got, strict=True) if (found := inner(a, b))), "")
    if isinstance(wanted, dict):
        if list(wanted) != list(got):
            return f"keys {list(got)} instead of {list(wanted)}"
        return next((found for key in wanted if (found := inner(wanted[key], got[key]))), "")
    if not values or _is_same(wanted, got, exact):
        return ""
    return f"{got!r:.60} instead of {wanted!r:.60}"


def by_chance(results: Sequence[Any], differ: Callable[[Any, Any], Any], *, rounded: bool) -> bool:
    """Whether a function gave other results for the same inputs at times.

    One that never gives the same twice keeps state out of sight, except where only the order of a sum changes.
    """
    differing = [bool(differ(a, b)) for a, b in combinations(results, 2)]
    return any(differing) and (rounded or not all(differing))


def shares_otherwise(wanted: Any, got: Any) -> str:
    """How the memory that parts of a result share differs; a caller who writes into one part sees it in the other."""
    return "" if _sharing(wanted) == _sharing(got) else "its results share memory where the function's do not, or not"


def _sharing(tree: Any) -> set[tuple[int, int]]:
    """Which tensors and arrays of a tree lie in memory of each other, by their places in it."""
    spans = list(map(_span, _leaves(tree)))[:MOST_LEAVES]
    numbered = [(place, span) for place, span in enumerate(spans) if span is not None]
    return {(n, m) for n, a in numbered for m, b in numbered if n < m and a[0] < b[1] and b[0] < a[1]}


MOST_LEAVES = 64
_byte_bounds: Any = getattr(np.lib, "array_utils", np).byte_bounds  # numpy 1 has it by itself


def _leaves(tree: Any) -> Iterator[Any]:
    if (record := as_named_tuple(tree)) is not None:
        tree = record
    parts = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, tuple | list) else None
    if parts is None:
        yield tree
    else:
        for part in parts:
            yield from _leaves(part)


def _span(leaf: Any) -> tuple[int, int] | None:
    """The first byte and the end of a tensor on the CPU or an array; None where it has no bytes."""
    if isinstance(leaf, np.ndarray):
        return _byte_bounds(leaf) if leaf.size else None
    if not isinstance(leaf, torch.Tensor) or leaf.layout is not torch.strided or leaf.device.type != "cpu":
        return None
    if not leaf.numel():
        return None
    last = sum(step * (size - 1) for step, size in zip(leaf.stride(), leaf.shape, strict=True))
    return leaf.data_ptr(), leaf.data_ptr() + (last + 1) * leaf.element_size()


def _kind(thing: Any) -> Any:
    """The class of a container or a value, as far as an archive keeps it apart from others."""
    if isinstance(thing, dict) and type(thing) is not OrderedDict:
        return dict
    if type(thing) is tuple or hasattr(type(thing), "_fields"):
        return getattr(type(thing), "_fields", tuple)
    return type(thing)


def _is_same(wanted: Any, got: Any, exact: bool) -> bool:
    if isinstance(wanted, float | complex):
        if exact:
            return repr(wanted) == repr(got)
        return bool(np.isclose(wanted, got, rtol=1e-3, atol=1e-6, equal_nan=True)) and _sign(wanted) == _sign(got)
    return bool(wanted == got)


def _sign(number: Any) -> float:
    return math.copysign(1, number) if number == 0 and isinstance(number, float) else 0


def _of_arrays(wanted: Any, got: Any, values: bool, exact: bool) -> str:
    if type(got) is not type(wanted) or got.dtype != wanted.dtype or got.shape != wanted.shape:
        return f"{_array(got)} instead of {_array(wanted)}"
    if wanted.size and isinstance(wanted, np.ndarray) and not _lie_alike(wanted, got):
        return f"an array of strides {got.strides} instead of {wanted.strides}; a .copy() of it is kept as it is"
    if not values or np.array_equal(wanted, got, equal_nan=wanted.dtype.kind in "fc"):
        return ""
    near = not exact and wanted.dtype.kind in "fc" and np.allclose(wanted, got, rtol=1e-3, atol=1e-5, equal_nan=True)
    return "" if near else "an array of other values"


def _lie_alike(wanted: np.ndarray[Any, Any], got: np.ndarray[Any, Any]) -> bool:
    """Whether strides differ only where a size of 1 makes them mean nothing."""
    return all(a == b or n == 1 for a, b, n in zip(wanted.strides, got.strides, wanted.shape, strict=True))


def _array(thing: Any) -> str:
    kind = f"{thing.dtype} {list(thing.shape)}" if isinstance(thing, np.ndarray | np.generic) else ""
    return f"{type(thing).__name__} {kind}".strip()


def _of_tensors(wanted: torch.Tensor, got: Any, values: bool, exact: bool) -> str:
    if not isinstance(got, torch.Tensor):
        return f"a {type(got).__name__} instead of a tensor"
    if wanted.dtype != got.dtype or wanted.shape != got.shape or wanted.layout != got.layout:
        return f"{_tensor(got)} instead of {_tensor(wanted)}"
    if wanted.device.type != got.device.type and "meta" not in (wanted.device.type, got.device.type):
        return f"{_tensor(got)} on {got.device} instead of {wanted.device}"
    if wanted.layout is not torch.strided or not wanted.numel():
        return ""
    if wanted.stride() != got.stride() and not _is_dense_alike(wanted, got):
        return f"strides {got.stride()} instead of {wanted.stride()}"
    if not values or wanted.device.type == "meta":
        return ""
    same = _same_bits if exact and wanted.device.type == "cpu" else _near
    if same(wanted, got.to(wanted.device)):
        return ""
    return f"other values of {_tensor(wanted)}"


def _is_dense_alike(wanted: torch.Tensor, got: torch.Tensor) -> bool:
    """Whether strides differ only where a size of 1 makes them mean nothing."""
    return all(a == b or n == 1 for a, b, n in zip(wanted.stride(), got.stride(), wanted.shape, strict=True))


def _tensor(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"


def _same_bits(wanted: torch.Tensor, got: torch.Tensor) -> bool:
    """Whether all values are the same; every NaN is the same as any other one."""
    if not wanted.is_floating_point() and not wanted.is_complex():
        return bool(torch.equal(wanted, got))
    wanted, got = (
        torch.view_as_real(t.detach().resolve_conj()) if t.is_complex() else t.detach() for t in (wanted, got)
    )
    whole = _WHOLE[wanted.dtype.itemsize]
    if torch.equal(wanted.resolve_neg().view(whole), got.resolve_neg().view(whole)):
        return True
    a, b = wanted.double(), got.double()
    return bool((((a == b) & (a.signbit() == b.signbit())) | (a.isnan() & b.isnan())).all())


_WHOLE = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def _near(wanted: torch.Tensor, got: torch.Tensor) -> bool:
    if not wanted.is_floating_point() and not wanted.is_complex():
        return bool(torch.equal(wanted, got))
    wide = torch.complex128 if wanted.is_complex() else torch.float64
    a, b = wanted.detach().to(wide), got.detach().to(wide)
    finite = a[a.abs().isfinite()]
    scale = float(finite.abs().max()) if finite.numel() else 0.0
    loose = 3e-2 if wanted.dtype.itemsize < (8 if wanted.is_complex() else 4) else 1e-3
    return torch.allclose(a, b, rtol=loose, atol=loose * 1e-2 * scale + 1e-8, equal_nan=True)
