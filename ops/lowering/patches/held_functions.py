"""The functions that run, as their callers hold them: for a process that has frozen its objects.

The collector of garbage tells who holds a piece of code, but not of objects that `gc.freeze` hid from it, as servers do
before they fork. A function that runs is still held by what its callers can see: a model, a list, a closure.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Iterable
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import torch

_ENTRIES = vars(type)["__dict__"].__get__  # of a class, whatever its metaclass says
_MOST = 50_000  # objects that are looked at
_PLAIN = (str, bytes, int, float, complex, type(None), torch.Tensor, ModuleType, FrameType, CodeType)


def held_functions(frame: FrameType) -> tuple[FunctionType, ...]:
    """The functions with the code of a frame, among what it and its callers hold; the nearest objects come first."""
    code = frame.f_code
    found: list[FunctionType] = []
    pending = deque(_locals(frame))
    seen: set[int] = set()
    while pending and len(seen) < _MOST:
        thing = pending.popleft()
        if id(thing) in seen or issubclass(type(thing), _PLAIN):  # a proxy may have no `__class__`
            continue
        seen.add(id(thing))
        if type(thing) is FunctionType and thing.__code__ is code:
            found.append(thing)
        pending.extend(_held(thing))
    return tuple(found)


def _locals(frame: FrameType | None) -> list[Any]:
    found: list[Any] = []
    while frame is not None:
        found += frame.f_locals.values()
        frame = frame.f_back
    return found


def _held(thing: Any) -> Iterable[Any]:
    """What an object holds, without the modules behind it."""
    if type(thing) is FunctionType:
        return [*(thing.__closure__ or ()), *(thing.__defaults__ or ()), *vars(thing).values()]
    if issubclass(type(thing), type):
        home = str(type.__getattribute__(thing, "__module__"))  # a metaclass may answer nothing
        return () if home.partition(".")[0] in ("torch", "builtins") else list(_ENTRIES(thing).values())
    return gc.get_referents(thing)
