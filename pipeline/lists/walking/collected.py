"""What an iterable gives, as a list: of any length where it goes through one."""

from __future__ import annotations

from typing import Any

from ...proxies.base import is_traced
from ...proxies.byte_strings import TracedBytes
from ...recording.recorder import Recorder
from .iterators import ListIterator


def collected(recorder: Recorder, items: Any) -> Any:
    """A list of what an iterable gives: of any length where it goes through a list of any length."""
    if is_traced(items):
        return items
    if type(items) is TracedBytes:
        return items.tensor.tolist()
    if type(items) is ListIterator:
        return items.taken()
    recorder.rounds.closing = None
    found = list(items)
    loop = recorder.rounds.closing
    if loop is None:
        return found
    return loop.gathered(found)
