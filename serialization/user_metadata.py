"""What a user writes about a pipeline: text, numbers, booleans, None, and lists and dicts of them. No torch."""

from __future__ import annotations

import math
from typing import Any

from ..ops.graph.errors import SignatureError
from .decoder import malformed

DEEPEST = 20  # levels of lists and dicts
LARGEST = 1 << 20  # characters of all texts, and items, together
_PLAIN = "a dict with names of str; text, numbers, booleans, None, and lists and dicts of them"


def check_metadata(data: Any) -> dict[str, Any]:
    """A copy of the metadata that a user gives.

    Raises:
        SignatureError: it is no dict of plain values, or too large.
    """
    found, reason = _examined(data)
    if reason:
        raise SignatureError("the metadata cannot be stored", got=reason, expected=_PLAIN)
    return found


def decode_metadata(data: Any) -> dict[str, Any]:
    """The metadata of a manifest; empty in a file of format 1.1 or older.

    Raises:
        ArchiveError: it is malformed.
    """
    found, reason = _examined({} if data is None else data)
    if reason:
        raise malformed("$.metadata", reason, _PLAIN)
    return found


def _examined(data: Any) -> tuple[dict[str, Any], str]:
    """A copy, and what is wrong with it."""
    left = LARGEST

    def copied(value: Any, depth: int) -> Any:
        nonlocal left
        left -= 1 + (len(value) if isinstance(value, str) else 0)
        if left < 0:
            raise ValueError(f"more than {LARGEST} characters and items")
        if depth > DEEPEST:
            raise ValueError(f"more than {DEEPEST} levels")
        if isinstance(value, dict):
            if not all(type(key) is str for key in value):
                raise ValueError("a key that is no str")
            return {copied(key, depth): copied(item, depth + 1) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [copied(item, depth + 1) for item in value]
        if type(value) is int and not -(2**63) <= value < 2**64:
            raise ValueError("an integer of more than 64 bits")
        if type(value) is float and not math.isfinite(value):
            raise ValueError(repr(value))
        if value is not None and type(value) not in (bool, int, float, str):
            raise ValueError(f"a value of {type(value).__name__}")
        return value

    if not isinstance(data, dict):
        return {}, type(data).__name__
    try:
        return copied(data, 0), ""
    except ValueError as error:
        return {}, str(error)
