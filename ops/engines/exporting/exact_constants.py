"""Constants as they are: an export to ONNX takes none for another one that is near.

Torch's exporter has onnxscript leave out what adds zero or multiplies by one, and onnxscript takes for zero what is
below 1e-8: of `x / (x.std() + 1e-8)`, as many models have it, the guard against zero was left out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ...lowering.patches.lock import Patch, Patched


class ExactConstants(Patched):
    """While it is entered, a pattern of onnxscript matches a constant only where it is the same number."""

    def __init__(self) -> None:
        super().__init__(_patch())


@cache
def _patch() -> Patch:
    from onnxscript.rewriter._matcher import SimplePatternMatcher

    return Patch(SimplePatternMatcher, "_match_constant", _exact)


def _exact(original: Callable[..., bool], patch: Patch) -> Callable[..., bool]:
    def match_constant(self: Any, wanted: Any, value: Any) -> bool:
        matches = original(self, wanted, value)
        if not (matches and patch.needed) or np.array_equal(value.const_value.numpy(), wanted._value):
            return matches
        return bool(self.fail(f"{value.name} is near {wanted._value}, but another number"))

    return match_constant
