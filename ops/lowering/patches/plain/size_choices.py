"""Choices of a model's own code by sizes that it computed, as in ``if h.shape[1] == 1``.

torch asks such questions as well, to see how a result lies in memory: of those a guard may say too much. What the model
asks is another matter, since behind it lies another way, with choices of its own that no run has seen.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import sympy  # type: ignore[import-untyped]  # torch needs it, and it has no types
import torch

from ..lock import Patch
from .askers import hearing, is_answered_plainly


def _noting(original: Any, patch: Patch) -> Callable[..., Any]:
    def truth(self: Any) -> bool:
        if patch.needed and _is_computed(self.node.expr) and is_answered_plainly(sys._getframe(1)):
            hearing[-1].chooses_by_sizes = True
        return bool(original(self))

    return truth


def _is_computed(expression: Any) -> bool:
    """Whether a condition is on more than the size of an input, held against a number."""
    sides = expression.args if isinstance(expression, sympy.Rel) else (expression,)
    return any(side.free_symbols and not side.is_Symbol for side in sides)


PATCHES = tuple(Patch(kind, "__bool__", _noting) for kind in (torch.SymBool, torch.SymInt))
