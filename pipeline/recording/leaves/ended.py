"""Things of a recording that is over: no stand-in of it has a meaning any more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn, Protocol

from ...proxies.scalars import end_numbers

_WHAT = "a number or an array of a trace that has ended was kept, and is used now"
_FIX = "Return it instead of storing it. With lru_cache call f.__wrapped__(x), self.f.__wrapped__(self, x)."


class EndingRecording(Protocol):
    """A recording.

    Attributes:
        ended: whether it is over.
    """

    ended: bool

    def refuse(self, what: str, fix: str) -> NoReturn:
        """Refuses with the user's line."""
        ...


@contextmanager
def ending(recorder: EndingRecording) -> Iterator[None]:
    """When it is left, the recording is over."""
    try:
        yield
    finally:
        recorder.ended = True
        end_numbers()


def refuse_ended(recorder: EndingRecording) -> None:
    """Refuses to go on where a recording is over, or one around it: a stand-in was kept beyond it.

    Raises:
        RecordError: it is.
    """
    around: EndingRecording | None = recorder
    while around is not None:
        if around.ended:
            recorder.refuse(_WHAT, _FIX)
        around = getattr(around, "parent", None)
