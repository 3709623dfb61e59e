"""Conditions on sizes that a model compares by `is`, as in ``(x.shape[0] > 2) is True``: bools, as in a plain run.

A bool decides the condition at once, which makes a guard of it, so only models that compare so get one.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from itertools import pairwise
from types import CodeType
from typing import Any

import torch

from ....runtime.user_code import codes_in
from ..lock import Patch
from .askers import is_answered_plainly

_IS, _CACHE = dis.opmap["IS_OP"], dis.opmap.get("CACHE")
_CONSTANT = dis.opmap["LOAD_CONST"]


def compares_bools(code: CodeType) -> bool:
    """Whether some code compares with True or False by `is`."""
    return any(map(_compares, codes_in(code)))


def _compares(code: CodeType) -> bool:
    if not any(isinstance(const, bool) for const in code.co_consts):
        return False
    steps = [(op, arg) for op, arg in zip(code.co_code[::2], code.co_code[1::2], strict=True) if op != _CACHE]
    return any(
        op == _CONSTANT and following == _IS and isinstance(code.co_consts[arg], bool)
        for (op, arg), (following, _) in pairwise(steps)
    )


def _deciding(original: Any, patch: Patch) -> Callable[..., Any]:
    def compare(self: Any, other: Any) -> Any:
        found = original(self, other)
        if type(found) is torch.SymBool and patch.needed and is_answered_plainly(sys._getframe(1)):
            return bool(found) if found.node.has_hint() else found
        return found

    return compare


PATCHES = tuple(
    Patch(kind, f"__{name}__", _deciding)
    for kind in (torch.SymInt, torch.SymFloat)
    for name in ("eq", "ne", "lt", "le", "gt", "ge")
)
