"""Refuses work that a function gives to another thread, where no recorder sees it, at the line that does so."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import wraps
from multiprocessing.pool import Pool
from typing import Any

from .hooks import Hooks, active


def _refusing(plain: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(plain)
    def handed(*args: Any, **kwargs: Any) -> Any:
        recorder = active()
        if recorder is not None:
            recorder.refuse(
                "the function gives work to another thread, which cannot be recorded",
                "Do it in the function itself, or before it, and take the result as an input.",
            )
        return plain(*args, **kwargs)

    return handed


_POOL = ("apply_async", "_map_async", "imap", "imap_unordered")

threads = Hooks(
    [
        (threading.Thread, "start", _refusing),
        *((kind, name, _refusing) for kind in (ThreadPoolExecutor, ProcessPoolExecutor) for name in ("submit",)),
        (Executor, "map", _refusing),
        *((Pool, name, _refusing) for name in _POOL),
    ]
)
"""Makes recorders refuse work for other threads."""
