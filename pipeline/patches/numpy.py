"""While something is recorded, numpy's functions see tensors, and those that make arrays see stand-ins.

The hooks are set for the whole process and do nothing in threads that record nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from typing import Any

import numpy as np
import torch

from ...ops.graph.traverse import leaves
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


_MAKERS = ("array", "asarray", "asanyarray", "ascontiguousarray", "arange", "zeros", "ones", "full")
_SEEING: list[tuple[Any, str]] = [*((np, name) for name in _MAKERS), (torch, "from_numpy")]


class _Hooks:
    """The hooks, and how many recordings need them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._plain: dict[tuple[Any, str], Any] = {}

    def set(self) -> None:
        """Sets them for the first recording."""
        with self._lock:
            self._users += 1
            if self._users > 1:
                return
            for owner, name in _SEEING:
                self._plain[owner, name] = plain = getattr(owner, name)
                setattr(owner, name, _making(f"{owner.__name__}.{name}", plain))
            # Tensors have these while a recording needs them only.
            torch.Tensor.__array_ufunc__ = _tensor_ufunc  # type: ignore[attr-defined]
            # Tensors have these while a recording needs them only.
            torch.Tensor.__array_function__ = _tensor_function  # type: ignore[attr-defined]

    def unset(self) -> None:
        """Takes them away after the last one."""
        with self._lock:
            self._users -= 1
            if self._users:
                return
            for (owner, name), plain in self._plain.items():
                setattr(owner, name, plain)
            # Tensors have these while a recording needs them only.
            del torch.Tensor.__array_ufunc__, torch.Tensor.__array_function__  # type: ignore[attr-defined]


_hooks = _Hooks()


@contextmanager
def hooks() -> Iterator[None]:
    """Lets the recorders of all threads see what numpy is called with."""
    _hooks.set()
    try:
        yield
    finally:
        _hooks.unset()
