"""Modules whose `forward` is written into a block: one that chooses between two kinds is no graph."""

from __future__ import annotations

from collections.abc import Collection
from types import FunctionType, MethodType
from typing import Any

import torch

from .....ops.runtime.user_code import is_users

_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def forward_of(module: Any, name: str, opened: Collection[str]) -> MethodType | None:
    """The method that a call of a module runs, if it is the user's and runs alone.

    Args:
        module: what is called.
        name: by which the code calls it.
        opened: the names of what chooses.
    """
    if name not in opened or not isinstance(module, torch.nn.Module):
        return None
    held, function = vars(module), type(module).forward
    if not isinstance(function, FunctionType) or not is_users(function.__code__.co_filename):
        return None
    plain = "forward" not in held and type(module).__call__ is torch.nn.Module.__call__
    return MethodType(function, module) if plain and not any(held.get(each) for each in _HOOKS) else None
