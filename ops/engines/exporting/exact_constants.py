"""Constants as they are: an export to ONNX takes none for another one that is near.

Torch's exporter has onnxscript leave out what adds zero or multiplies by one, and onnxscript takes for zero what is
below 1e-8: of `x / (x.std() + 1e-8)`, as many models have it, the guard against zero was left out.

Where onnxscript makes one function of two, it names the bounds of a clamp by what is clamped, and a later constant
takes the place of an earlier one with its name (`initializers[initializer.name] = initializer` in its
`rewriter/_rewrite_rule.py`): with two clamps of one tensor the model lacked a constant, and no runtime took it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import count
from typing import Any

import numpy as np

from ...lowering.patches.lock import Patch, Patched


class ExactConstants(Patched):
    """While it is entered, a pattern of onnxscript matches a constant only where it is the same number.

    Constants that its rules make have names of their own.
    """

    def __init__(self) -> None:
        super().__init__(*_patches())


@cache
def _patches() -> tuple[Patch, Patch]:
    from onnxscript.rewriter import RewriterContext
    from onnxscript.rewriter._matcher import SimplePatternMatcher

    owner = next(each for each in RewriterContext.__mro__ if "initializer" in vars(each))
    return Patch(SimplePatternMatcher, "_match_constant", _exact), Patch(owner, "initializer", _distinct)


def _exact(original: Callable[..., bool], patch: Patch) -> Callable[..., bool]:
    def match_constant(self: Any, wanted: Any, value: Any) -> bool:
        matches = original(self, wanted, value)
        if not (matches and patch.needed) or np.array_equal(value.const_value.numpy(), wanted._value):
            return matches
        return bool(self.fail(f"{value.name} is near {wanted._value}, but another number"))

    return match_constant


def _distinct(original: Callable[..., Any], patch: Patch) -> Callable[..., Any]:
    numbers = count()

    def initializer(self: Any, tensor: Any, name: str | None = None) -> Any:
        made = original(self, tensor, name)
        if patch.needed:
            made.name = f"{made.name}_{next(numbers)}"
        return made

    return initializer
