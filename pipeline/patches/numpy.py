"""While something is recorded, numpy's functions see tensors, and those that make arrays see stand-ins.

The hooks are set for the whole process and do nothing in threads that record nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any

import numpy as np
import torch

from ...ops.graph.traverse import leaves
from ...ops.lowering.patches.lock import Patch, Patched
from ...ops.tracing_hook import current
from ..proxies.base import is_traced
from ..recording.recorder import Recorder
from ..rules.numpy_functions import plain_ufunc


def _active() -> Recorder | None:
    """The recorder of this thread, unless it runs something of its own."""
    recorder = current()
    return recorder if isinstance(recorder, Recorder) and not recorder.busy else None


def _tensor_ufunc(self: torch.Tensor, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    recorder = _active()
    if recorder is None:
        return plain_ufunc(ufunc, method, inputs, kwargs)
    return recorder.ufunc(ufunc, method, inputs, kwargs)


def _tensor_function(self: torch.Tensor, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    recorder = _active()
    if recorder is None:
        return func._implementation(*args, **kwargs)
    return recorder.array_function(func, args, kwargs)


@cache  # kept for good: torch's compiler remembers numpy's functions by their ids, which would be taken by others
def _making(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes an array or a tensor, recorded where a stand-in or a tensor is among its arguments."""

    @wraps(plain)
    def function(*args: Any, **kwargs: Any) -> Any:
        recorder = _active()
        seen = (args, kwargs)
        if recorder is None or not any(is_traced(leaf) or isinstance(leaf, torch.Tensor) for leaf in leaves(seen)):
            return plain(*args, **kwargs)
        return recorder.array(name, *args, **kwargs)

    return function


def _seeing(owner: Any, name: str) -> Patch:
    return Patch(owner, name, lambda original, _: _making(f"{owner.__name__}.{name}", original))


_MAKERS = ("array", "asarray", "asanyarray", "ascontiguousarray", "arange", "zeros", "ones", "full")
_PATCHES = (
    *(_seeing(np, name) for name in _MAKERS),
    _seeing(torch, "from_numpy"),
    # Tensors have these while a recording needs them only.
    Patch(torch.Tensor, "__array_ufunc__", lambda original, _: _tensor_ufunc),
    Patch(torch.Tensor, "__array_function__", lambda original, _: _tensor_function),
)


def hooks() -> Patched:
    """Lets the recorders of all threads see what numpy is called with."""
    return Patched(*_PATCHES)
