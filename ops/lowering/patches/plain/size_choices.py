"""Choices of a model's own code by sizes that it computed, as in ``if h.shape[1] == 1``.

torch asks such questions as well, to see how a result lies in memory: of those a guard may say too much. What the model
asks is another matter, since behind it lies another way, with choices of its own that no run has seen.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import sympy  # type: ignore[import-untyped]  # torch needs it, and it has no types
import torch

from ..lock import Patch
from .askers import hearing, is_answered_plainly


def _noting(original: Any, patch: Patch) -> Callable[..., Any]:
    def truth(self: Any) -> bool:
        if not (patch.needed and is_answered_plainly(sys._getframe(1))):
            return bool(original(self))
        heard, asked = hearing[-1], self.node.expr
        heard.chooses_by_sizes = heard.chooses_by_sizes or _is_computed(asked)
        answer = bool(original(self))
        heard.choices.append((self.node, bool, answer))
        return answer

    return truth


def _compared(name: str) -> Callable[[Any, Patch], Callable[..., Any]]:
    """Notes a comparison that torch decides by itself, as it does ``n == 0``, so that nothing is left to choose by."""
    compare = getattr(operator, name)

    def noting(original: Any, patch: Patch) -> Callable[..., Any]:
        def compared(self: Any, other: Any) -> Any:
            found = original(self, other)
            if patch.needed and type(other) is int and _is_decided(found) and is_answered_plainly(sys._getframe(1)):
                hearing[-1].choices.append((self.node, partial(_held_against, compare, other), bool(found)))
            return found

        return compared

    return noting


def _held_against(compare: Callable[[Any, Any], Any], other: int, value: int) -> bool:
    return bool(compare(value, other))


def _is_decided(found: Any) -> bool:
    return type(found) is bool or (isinstance(found, torch.SymBool) and not found.node.expr.free_symbols)


def _is_computed(expression: Any) -> bool:
    """Whether a condition is on more than the size of an input, held against a number."""
    sides = expression.args if isinstance(expression, sympy.Rel) else (expression,)
    return any(side.free_symbols and not side.is_Symbol for side in sides)


PATCHES = (
    *(Patch(kind, "__bool__", _noting) for kind in (torch.SymBool, torch.SymInt)),
    *(Patch(torch.SymInt, f"__{name}__", _compared(name)) for name in ("eq", "ne", "lt", "le", "gt", "ge")),
)
