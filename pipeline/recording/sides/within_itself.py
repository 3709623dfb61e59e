"""A function that calls itself on a side of its own choice: a recording takes both sides, and would never end."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ....ops.graph.errors import RecordError
from ....ops.runtime.user_code import user_line

MOST_WITHIN = 18
"""Of one choice, how many are recorded within each other: one more than a file may hold."""


class _Open(threading.local):
    """The choices that are being recorded in this thread, by the code of a side."""

    def __init__(self) -> None:
        self.sides: list[Any] = []


_open = _Open()


@contextmanager
def ending(side: Callable[..., Any]) -> Iterator[None]:
    """Counts a choice whose sides are recorded.

    Raises:
        RecordError: it is within itself too often.
    """
    plain = inspect.unwrap(side)
    code = getattr(plain, "__code__", plain)
    if _open.sides.count(code) >= MOST_WITHIN:
        raise RecordError(
            "a function calls itself on a side of a choice by data, which is recorded again and again",
            where=str(user_line() or ""),
            fix="Write a loop: state = tracepack.while_loop(condition, body, state).",
        )
    _open.sides.append(code)
    try:
        yield
    finally:
        _open.sides.pop()
