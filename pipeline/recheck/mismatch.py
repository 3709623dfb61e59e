"""A call in which a function and its pipeline differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch

from ...ops.graph.errors import RecordError
from ...ops.graph.graph import SourceLine
from .reach.places import Location

DIFFERS = "a second recording on other data differs"
"""How the error begins that says that two recordings are different programs."""

NO_INPUT = (
    "It depends on something that is not an input: a counter, a cache, random numbers or the time. "
    "Pass that as an argument."
)
"""What to do about a function that keeps state."""

_IN_CACHE = (
    "Make the cache in the function, DynamicCache(), or pass its keys and values, past = [(layer.keys, layer.values) "
    "for layer in cache.layers], and write DynamicCache(past) there, as 'Text generation' in docs/guide.md does."
)


def instead_of_state(place: str) -> str:
    """What to do about a function that keeps state in an object, by the name of its class."""
    return _IN_CACHE if place == "DynamicCache" else NO_INPUT


OF_MOMENT = "Ask or draw before the call, and pass the result as an input."
"""What to do about a function that answers by the moment in which it is called."""

UNSEEN = "It depends on something that a recording does not see: an identity, a type, a thread, an object."
"""What to do about a function that answers otherwise than its recording for a reason that is not known."""

CHANGES_GIVEN = (
    "the function changes a list or a dict that it was given; the pipeline leaves those of its caller as they are"
)


differing: ContextVar[list[Any] | None] = ContextVar("differing", default=None)
"""The differences that a trace finds: a way that answers otherwise somewhere is taken for no lengths at all."""


@contextmanager
def noting_differences(found: list[Any]) -> Iterator[None]:
    """While it is entered, a list gets those differences."""
    token = differing.set(found)
    try:
        yield
    finally:
        differing.reset(token)


@dataclass(frozen=True)
class Mismatch:
    """A call in which function and pipeline differ.

    Attributes:
        what: how their results differ.
        leaves: the inputs of the call.
        repeated: whether they agreed on the same inputs before, so that state must be the cause.
        place: the object and the key in which the function keeps state, as far as that was seen.
        asking: the line that asks for the time, or draws random numbers of the system, where that is the cause.
    """

    what: str
    leaves: Sequence[Any]
    repeated: bool = False
    place: tuple[Location, Any] | None = None
    asking: SourceLine | None = None

    def of_moment(self) -> RecordError:
        """The error for a function that answers by the moment in which it is called."""
        return RecordError(
            f"the function asks for the time, or draws random numbers of the system: at another moment {self.what}",
            where=str(self.asking or ""),
            fix=OF_MOMENT,
        )


_DURING_LOOP = ("changed size during iteration", "keys changed during iteration", "mutated during iteration")


def raised(error: Exception, own: bool) -> str:
    """How a pipeline that answers differs from the function, which raises; empty where that need not be a difference.

    A function may refuse data that were made up, which a pipeline computes. An assertion of a TorchScript function that
    is called in it is another matter: the recording has seen nothing of it. So is a loop over what it changes, and an
    int that is given for a float, and asked for what floats alone have.

    Args:
        error: what the function raised.
        own: whether it did so on its own example.
    """
    sees = isinstance(error, torch.jit.Error) or str(error).endswith(_DURING_LOOP) or _asks_int_for_float(error)
    if not own and not sees:
        return ""
    said = (str(error).strip().splitlines() or [""])[-1]  # the lines before are TorchScript's stack
    return f"it answers where the function raises {type(error).__name__}: {said}"


def _asks_int_for_float(error: Exception) -> bool:
    """Whether an int was asked for an attribute that floats have in this Python, as `is_integer` before 3.12."""
    return isinstance(error, AttributeError) and type(error.obj) is int and hasattr(float, error.name or "")


def note(found: Mismatch | None) -> Mismatch | None:
    """Takes note of a difference, where somebody wants to know."""
    if found is not None and (noted := differing.get()) is not None:
        noted.append(found)
    return found
