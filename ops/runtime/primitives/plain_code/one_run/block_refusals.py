"""Refusals that leave a block of plain Python, whatever it catches."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from .....graph.errors import GuardError
from ...control_flow import uncounted

refusals: ContextVar[list[RefusedError] | None] = ContextVar("refusals", default=None)
"""Those of the block that runs: an error in a `finally` takes the place of one, and may be caught."""


class RefusedError(BaseException):
    """A refusal inside of a block, which none of its handlers catches; the block raises what it holds."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error
        if (found := refusals.get()) is not None:
            found.append(self)


def refuse(what: str, **more: Any) -> Any:
    """Raises a refusal that leaves the block.

    Raises:
        RefusedError: always.
    """
    raise RefusedError(GuardError(what, **more))


def refuse_caught() -> None:
    """Refuses that a handler has caught an error of Python's own bounds: a block needs more of its stack.

    Raises:
        RefusedError: it has.
    """
    error = sys.exc_info()[1]
    if isinstance(error, RecursionError | MemoryError):
        refuse("a block of plain Python calls functions too deeply", got=type(error).__name__)


def within(function: Callable[..., Any], *args: Any) -> Any:
    """What a function gives that refuses to make something too large."""
    try:
        return function(*args)
    except GuardError as error:
        raise RefusedError(error) from None


def ticking(count: Callable[[], None]) -> Callable[[], None]:
    """What counts the rounds of loops, whose end no handler of the block catches."""
    if count is uncounted:
        return count

    def tick() -> None:
        try:
            count()
        except Exception as error:
            raise RefusedError(error) from None

    return tick
