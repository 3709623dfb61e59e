"""Functions of torch that take a callable, such as a distance function: recorded by the operators that they run.

No archive can hold the callable. But such a function is written in Python on top of other torch functions, so its
body runs in its place, and the recorder sees each of these.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

import torch

# By these a function of torch asks whether it should hand itself over to a recorder.
_ASKS = ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic")


def takes_objects(func: Callable[..., Any], arguments: Any) -> bool:
    """Whether an argument of a function of torch that is written in Python is a callable."""
    if not isinstance(func, FunctionType) or not func.__module__.startswith("torch."):
        return False
    return any(isinstance(leaf, _CALLED) for leaf in torch.utils._pytree.tree_leaves(arguments))


_CALLED = (FunctionType, MethodType, type(len), torch.nn.Module)


def opened(func: Any) -> Callable[..., Any]:
    """A copy of the function that does not hand itself over to a recorder."""
    scope = {**func.__globals__, **dict.fromkeys(_ASKS, _never)}
    found = FunctionType(func.__code__, scope, func.__name__, func.__defaults__, func.__closure__)
    found.__kwdefaults__ = func.__kwdefaults__
    return found


def _never(*_: Any) -> bool:
    return False
