"""A call in which a function and its pipeline differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .reach.places import Location


@dataclass(frozen=True)
class Mismatch:
    """A call in which function and pipeline differ.

    Attributes:
        what: how their results differ.
        leaves: the inputs of the call.
        repeated: whether they agreed on the same inputs before, so that state must be the cause.
        place: the object and the key in which the function keeps state, as far as that was seen.
    """

    what: str
    leaves: Sequence[Any]
    repeated: bool = False
    place: tuple[Location, Any] | None = None
