"""Compares two flat results of a model."""

from __future__ import annotations

from typing import Any

import torch

from ..call import Leaves


def same_leaves(wanted: Leaves, got: Leaves) -> bool:
    """Whether two flat results are equal, or differ by no more than another order of summation makes."""
    return len(wanted) == len(got) and all(map(_same, wanted, got))


def _same(wanted: Any, got: Any) -> bool:
    if not isinstance(wanted, torch.Tensor):
        return type(wanted) is type(got) and bool(wanted == got)
    if not isinstance(got, torch.Tensor) or wanted.dtype != got.dtype or wanted.shape != got.shape:
        return False
    if wanted.dtype.is_floating_point or wanted.dtype.is_complex:
        wide = torch.complex128 if wanted.dtype.is_complex else torch.float64
        loose = 1e-2 if wanted.dtype.itemsize < 4 and not wanted.dtype.is_complex else 1e-5
        return torch.allclose(wanted.to(wide), got.to(wanted.device).to(wide), rtol=loose, atol=loose, equal_nan=True)
    return torch.equal(wanted, got.to(wanted.device))


def difference(wanted: Leaves, got: Leaves) -> str:
    """What differs between two flat results, in a few words."""
    if len(wanted) != len(got):
        return f"{len(got)} outputs instead of {len(wanted)}"
    for index, (a, b) in enumerate(zip(wanted, got, strict=True)):
        if _same(a, b):
            continue
        if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
            return f"output {index} is {b!r} instead of {a!r}"
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"output {index} is {b.dtype} {tuple(b.shape)} instead of {a.dtype} {tuple(a.shape)}"
        return f"output {index} differs by up to {(a.double() - b.double()).abs().max().item():.3g}"
    return "nothing"
