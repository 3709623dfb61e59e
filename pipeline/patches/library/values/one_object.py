"""Whether two things are one: ``is``, which a recording knows of few things."""

from __future__ import annotations

import operator
import sys
from types import FrameType
from typing import Any

import torch

from .....ops.graph.traverse import leaves
from .....ops.runtime.user_code import is_own, is_users
from ....proxies.base import is_traced
from ....proxies.make import TracedOptional
from ....proxies.values.call_only import refuse_asked
from ....proxies.values.maybe import MaybeThing
from ....proxies.values.members import TracedMember
from ....recording.recorder import Recorder
from ..extremes import running

_FIX = "Compare what they hold: a == b, torch.equal(a, b), or a number of their own, such as a['id'] != b['id']."
_CONTAINERS = (list, tuple, dict, set)


def identical(recorder: Recorder | None, one: Any, other: Any) -> Any:
    """``one is other``.

    Raises:
        RecordError: they are two on the example, and may be one on other inputs.
    """
    if recorder is None or one is other:
        return one is other
    recorder.rounds.copies.refuse_identity(one, other)
    refuse_asked(*(() if one is None or other is None else (one, other)))
    if TracedMember in (type(one), type(other)):
        return one.is_member(other) if type(one) is TracedMember else other.is_member(one)
    if MaybeThing in (type(one), type(other)):
        return one == other if type(one) is MaybeThing else other == one
    if TracedOptional in (type(one), type(other)):
        if one is None or other is None:
            return recorder.scalar("eq", one, other)
        recorder.refuse("whether a value that may be None is another object is no part of a graph", "Compare with ==.")
    if _may_be_another(recorder, one) and _may_be_another(recorder, other) and _is_asked_by_user():
        recorder.refuse("whether two values are one object is no part of a graph", _FIX)
    return False


def not_identical(recorder: Recorder | None, one: Any, other: Any) -> Any:
    """``one is not other``."""
    found = identical(recorder, one, other)
    return recorder.scalar("not_", found) if recorder is not None and is_traced(found) else not found


def refuse_another(recorder: Recorder, thing: Any) -> None:
    """Refuses ``id(thing)`` for an input, or what holds one.

    Raises:
        RecordError: it is such.
    """
    if _may_be_another(recorder, thing) and _is_asked_by_user():
        recorder.refuse("the id of a value, which says whether two are one object, is no part of a graph", _FIX)


def _is_asked_by_user() -> bool:
    """Whether the user's own code asks, and not that of a package, which asks to save work."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    return frame is not None and is_own(frame.f_code.co_filename)


def _may_be_another(recorder: Recorder, thing: Any) -> bool:
    """Whether a thing is an input of the recording, or of a part of it, or holds one: who calls decides which object.

    A tensor that the function has made is none: it is another object than all that were there before.
    """
    if isinstance(thing, torch.Tensor):
        return thing in recorder.values and not _is_made(recorder, thing)
    if isinstance(thing, dict) and not is_traced(thing):
        return any(_may_be_another(recorder, each) for each in thing.values())
    if isinstance(thing, _CONTAINERS) and not is_traced(thing):
        return any(_may_be_another(recorder, each) for each in thing)
    return is_traced(thing)


def _is_made(recorder: Recorder, tensor: torch.Tensor) -> bool:
    value = recorder.values.of(tensor)
    return any(each is value for node in recorder.nodes for each in leaves(node.output))


OF_IDENTITY: dict[str, tuple[Any, Any]] = {
    "is_": (operator, lambda one, other: identical(running(), one, other)),
    "is_not": (operator, lambda one, other: not_identical(running(), one, other)),
}
"""The functions of the module `operator` that ask for it."""
