"""Checks of `torch.distributions`, which torch.export cannot follow: a branch on whether all elements are valid.

While a model is exported such a check is an assertion, which a run of the body holds its data against.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.distributions import constraints

from .lock import Patch, Patched

_REASON = "a parameter or a value lies outside of what the distribution takes"


def _asserting(original: Any, patch: Patch) -> Callable[..., Any]:
    """`torch._is_all_true`, by which distributions check parameters and values."""

    def all_true(found: Any) -> Any:
        if not patch.needed or not isinstance(found, torch.Tensor):
            return original(found)
        torch._assert_async(found.all(), _REASON)
        return True

    return all_true


def _symmetric(original: Any, patch: Patch) -> Callable[..., Any]:
    """`check` of symmetric matrices, which looks no further where one is not square."""

    def check(self: Any, value: Any) -> Any:
        if not patch.needed or value.shape[-1] != value.shape[-2]:
            return original(self, value)
        return torch.isclose(value, value.mT, atol=1e-6).all(-2).all(-1)

    return check


def _definite(original: Any, patch: Patch) -> Callable[..., Any]:
    """`check` of positive definite matrices, which looks no further where one is not symmetric."""

    def check(self: Any, value: Any) -> Any:
        if not patch.needed:
            return original(self, value)
        symmetric: Any = constraints.symmetric
        return symmetric.check(value) & torch.linalg.cholesky_ex(value).info.eq(0)

    return check


_patches = (
    Patch(torch, "_is_all_true", _asserting),
    Patch(type(constraints.symmetric), "check", _symmetric),
    Patch(type(constraints.positive_definite), "check", _definite),
)


class DistributionChecks(Patched):
    """While it is entered, this thread's torch.export follows the checks of distributions."""

    def __init__(self) -> None:
        super().__init__(*_patches)
