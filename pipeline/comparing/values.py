"""Compares one value with the one that was stored: how far they lie apart, and whether that is within a tolerance."""

from __future__ import annotations

from typing import Any

import torch


def is_floating(value: Any) -> bool:
    """Whether a value is a floating or complex number, or a tensor of them."""
    if isinstance(value, torch.Tensor):
        return value.dtype.is_floating_point or value.dtype.is_complex
    return isinstance(value, float | complex)


def are_texts(wanted: Any, got: Any) -> bool:
    """Whether both are texts."""
    return isinstance(wanted, str) and isinstance(got, str)


def is_number(value: Any) -> bool:
    """Whether a value may differ by a tolerance; a boolean may not."""
    if isinstance(value, torch.Tensor):
        return value.dtype != torch.bool
    return isinstance(value, int | float | complex) and not isinstance(value, bool)


def compare_tensors(wanted: torch.Tensor, got: torch.Tensor, tolerance: float) -> tuple[float, bool, bool]:
    """Compares tensors: the largest difference, whether the bits are equal, whether all are within the tolerance."""
    if wanted.shape != got.shape or wanted.dtype != got.dtype:
        return float("inf"), False, False
    if torch.equal(wanted, got) or bool(((wanted == got) | ((wanted != wanted) & (got != got))).all()):
        return 0.0, True, True
    wide = torch.complex128 if wanted.dtype.is_complex else torch.float64
    a, b = wanted.to(wide), got.to(wide)
    largest = float(_differing(a, b).abs().nan_to_num(nan=float("inf")).max())
    return largest, False, tolerance > 0 and torch.allclose(b, a, rtol=tolerance, atol=tolerance, equal_nan=True)


def _differing(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The difference, which is zero where both are the same infinity, or no number."""
    return torch.where((a == b) | ((a != a) & (b != b)), 0.0, a - b)


def relative_error(wanted: Any, got: Any) -> float:
    """The norm of the difference to the norm of what is wanted; of values that are no floating tensors, 1."""
    if not (isinstance(wanted, torch.Tensor) and isinstance(got, torch.Tensor) and wanted.shape == got.shape):
        return 1.0
    if not is_floating(wanted):
        return 1.0
    wide = torch.complex128 if wanted.dtype.is_complex else torch.float64
    difference = _differing(got.cpu().to(wide), wanted.to(wide)).norm()
    norm = wanted.to(wide)[wanted.isfinite()].norm()
    return float((difference / norm).nan_to_num(nan=1.0, posinf=1.0))


def compare_plain(wanted: Any, got: Any, tolerance: float) -> tuple[float, bool, bool]:
    """Compares values that are no tensors; containers get here only where their structures differ."""
    if type(wanted) is not type(got) or isinstance(wanted, tuple | list | dict):
        return float("inf"), False, False
    if wanted == got or (wanted != wanted and got != got):
        return 0.0, True, True
    if not isinstance(wanted, int | float | complex):
        return float("inf"), False, False
    largest = abs(wanted - got)
    return largest, False, largest <= tolerance + tolerance * abs(wanted)
