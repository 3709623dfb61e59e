"""Hooks by which recorders see calls of numpy on tensors, and on stand-ins where a function makes arrays.

Functions of `scipy.special` in Python are seen where the function names them, since scipy hands over none of them.

They are set for the whole process, and do nothing in threads that record nothing.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable
from functools import cache, partial, wraps
from itertools import islice
from types import FrameType
from typing import Any

import numpy as np
import torch

from ...ops.graph.traverse import leaves
from ..proxies.base import is_traced
from ..rules.numpy_functions import plain_ufunc
from .hooks import Hooks, active
from .library.arrays.sized_arrays import SIZED_ARRAYS


def _tensor_ufunc(self: torch.Tensor, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    recorder = active()
    if recorder is None:
        return plain_ufunc(ufunc, method, inputs, kwargs)
    return recorder.ufunc(ufunc, method, inputs, kwargs)


def _tensor_function(self: torch.Tensor, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    recorder = active()
    if recorder is None:
        return func._implementation(*args, **kwargs)
    return recorder.array_function(func, args, kwargs)


@cache  # never freed: torch's compiler knows numpy's functions by their ids, which must not be reused
def _making(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    """The replacement of a function that makes arrays or tensors: records calls with a stand-in or a tensor."""

    @wraps(plain)
    def function(*args: Any, **kwargs: Any) -> Any:
        recorder = active()
        if recorder is None:
            return plain(*args, **kwargs)
        seen = leaves((args, kwargs), is_traced)  # a list of any length is a leaf
        if not any(is_traced(leaf) or isinstance(leaf, torch.Tensor) for leaf in seen):
            return plain(*args, **kwargs)
        if _is_drawn(sys._getframe(1), plain.__name__):
            recorder.refuse(
                "numpy draws random numbers, as many as a size or a number of the run says, which no file holds",
                "Pass them as an input, or draw them with torch.randn(n, generator=generator).",
            )
        return recorder.array(name, *args, **kwargs)

    return function


_DRAWS = frozenset(
    name for kind in (np.random.Generator, np.random.RandomState) for name in dir(kind) if name[0] != "_"
)


def _is_drawn(frame: FrameType, name: str) -> bool:
    """Whether numpy's generators call a function that makes arrays: their code, which is no frame, trusts it."""
    code = frame.f_code
    if _DRAWS.isdisjoint(code.co_names):
        return False
    if name not in code.co_names or not hasattr(code, "co_positions"):
        return name not in code.co_names
    line, last, start, end = next(islice(code.co_positions(), frame.f_lasti // 2, None))
    if line is None or line != last or start is None or end is None:
        return False
    text = linecache.getline(code.co_filename, line).encode()[start:end]
    return bool(text) and name.encode() not in text


_MAKERS = (
    "array", "asarray", "asanyarray", "ascontiguousarray", "arange", "linspace", "logspace", "zeros", "ones", "full",
)  # fmt: skip


def _place(owner: Any, name: str, recorded: str = "") -> tuple[Any, str, Callable[[Any], Any]]:
    return owner, name, partial(_making, f"{owner.__name__}.{recorded or name}")


hooks = Hooks(
    [
        *(_place(np, name) for name in _MAKERS),
        _place(np, "empty", "zeros"),  # what it holds is not said, and a file reads no memory of others
        _place(torch, "from_numpy"),
        *SIZED_ARRAYS,
        (torch.Tensor, "__array_ufunc__", lambda _: _tensor_ufunc),
        (torch.Tensor, "__array_function__", lambda _: _tensor_function),
    ]
)
"""Shows calls of numpy to the recorders of all threads."""
