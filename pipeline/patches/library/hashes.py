"""Stands for `hash`: that of an int is arithmetic, and that of a text is another one in each process."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import torch

from ...proxies.base import is_traced
from ...proxies.scalars import WholeNumber
from ...proxies.strings import TracedStr
from ...proxies.values.call_only import refuse_asked
from ...recording.recorder import Recorder
from .extremes import running
from .values.one_object import refuse_another

_MODULUS = sys.hash_info.modulus
_INSTEAD = "Write zlib.crc32({}.encode()), or hashlib.sha256({}.encode()).hexdigest()."


def hashed(thing: Any, /) -> Any:
    """Stands for `hash`."""
    recorder = running()
    refuse_asked(thing)
    if recorder is None:
        return hash(thing)
    if isinstance(thing, torch.Tensor):  # memory that is used again may give it twice
        refuse_another(recorder, thing)
    elif not _is_for_python(sys._getframe(1)):
        if issubclass(type(thing), WholeNumber) and type(thing.concrete) in (int, bool):
            return _of_whole(recorder, thing)
        _refuse(recorder, thing)
    return hash(thing) + (id(recorder) if is_traced(thing) else 0)


def _is_for_python(frame: FrameType | None) -> bool:
    """Whether a method `__hash__` asks, whose result has to be a plain number."""
    callers = (frame, frame.f_back if frame is not None else None)
    return any(each is not None and each.f_code.co_name == "__hash__" for each in callers)


def _of_whole(recorder: Recorder, number: Any) -> Any:
    """The hash of an int as Python makes it, on a machine such as the present one."""
    rest = abs(number) % _MODULUS
    found = recorder.scalar("int", rest - 2 * rest * (number < 0))
    return found - (found == -1)


def _refuse(recorder: Recorder, thing: Any) -> None:
    """Refuses the hash of a text, of what holds one, and of any other value of the recording."""
    parts = thing if type(thing) is tuple else [thing]
    if any(type(part) is TracedStr for part in parts):
        what = "the hash of a text, which is another one in each process, is no part of a graph"
        recorder.refuse(what, _INSTEAD.format(*("text",) * 2))
    if is_traced(thing):
        kind = type(thing.concrete).__name__
        recorder.refuse(f"the hash of a {kind} that is decided at run time", _INSTEAD.format(*("repr(value)",) * 2))
