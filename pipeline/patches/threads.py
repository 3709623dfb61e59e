"""Refuses work for another thread, where no recorder sees it, and coroutines, at the line that has them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import wraps
from multiprocessing.pool import Pool
from typing import Any

from .hooks import Hooks, active


def _refusing(plain: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(plain)
    def handed(*args: Any, **kwargs: Any) -> Any:
        recorder = active()
        if recorder is not None and not (args and _only_shows(args[0])):
            recorder.refuse(
                "the function gives work to another thread, which cannot be recorded",
                "Do it in the function itself, or before it, and take the result as an input.",
            )
        return plain(*args, **kwargs)

    return handed


def _only_shows(thread: Any) -> bool:
    """Whether a thread shows how far a loop is: tqdm notes for the whole process where it cannot be started."""
    return type(thread).__module__ == "tqdm._monitor"


def _refusing_coroutines(plain: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(plain)
    def run(*args: Any, **kwargs: Any) -> Any:
        recorder = active()
        if recorder is not None:
            for each in args:
                if isinstance(each, Coroutine):
                    each.close()  # else Python warns that nobody awaits it
            recorder.refuse(
                "the function runs a coroutine, which cannot be recorded",
                "Call a function without async and await in its place, or take what it gives as an input.",
            )
        return plain(*args, **kwargs)

    return run


_POOL = ("apply_async", "_map_async", "imap", "imap_unordered")

threads = Hooks(
    [
        (threading.Thread, "start", _refusing),
        *((kind, name, _refusing) for kind in (ThreadPoolExecutor, ProcessPoolExecutor) for name in ("submit",)),
        (Executor, "map", _refusing),
        *((Pool, name, _refusing) for name in _POOL),
        (asyncio, "run", _refusing_coroutines),
        *((kind, "run", _refusing_coroutines) for kind in [getattr(asyncio, "Runner", None)] if kind),  # Python 3.11
        (asyncio.BaseEventLoop, "run_until_complete", _refusing_coroutines),
    ]
)
"""Makes recorders refuse work for other threads, and coroutines."""
