"""A limit to the time of one sample, so that none can hang a campaign."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SECONDS = 120  # the slowest sample takes 2 on a quiet core


class Overdue(BaseException):
    """The time is up. No Exception, so that nothing on the way takes it for an error of its own."""


@contextmanager
def limited(seconds: float = SECONDS) -> Iterator[None]:
    """Stops what runs inside after some time; the main thread of a process only.

    Raises:
        Overdue: the time is up.
    """
    before = signal.signal(signal.SIGALRM, _ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _ring(*_: Any) -> None:
    raise Overdue
