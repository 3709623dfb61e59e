"""What a plain attribute of a model holds, to any depth: containers, arrays of numpy, and objects of the user's own."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from ...runtime.user_code import is_own
from ..held_objects import equal_content

MOST_PARTS = 1000
_PLAIN = (str, int, float, bool, bytes, type(None))
MOST_BYTES = 1 << 20  # of an array


class HeldPart:
    """One thing that may change in place, with what it held when it was found."""

    def __init__(self, thing: Any) -> None:
        self.thing, self.before = thing, _read(thing)

    @property
    def same(self) -> bool:
        """Whether it holds the same."""
        now, before = _read(self.thing), self.before
        if isinstance(now, np.ndarray):
            return bool(now.tobytes() == before.tobytes())
        return bool(equal_content(now, before))

    def restore(self) -> None:
        """Gives back what it held."""
        thing, before = self.thing, self.before
        if isinstance(thing, np.ndarray):
            thing[...] = before
        elif isinstance(thing, list | bytearray):
            thing[:] = before
        elif isinstance(thing, dict | set | deque):
            thing.clear()
            (thing.extend if isinstance(thing, deque) else thing.update)(before)
        else:
            vars(thing).clear()
            vars(thing).update(before)


def parts_of(value: Any) -> list[HeldPart]:
    """What an attribute's value leads to that may change in place, the value among it."""
    found: dict[int, HeldPart] = {}
    waiting = deque([value])
    while waiting and len(found) < MOST_PARTS:
        thing = waiting.popleft()
        if isinstance(thing, tuple):
            waiting.extend(thing)
        elif id(thing) not in found and _may_change(thing):
            found[id(thing)] = HeldPart(thing)
            waiting.extend(_items(found[id(thing)].before))
    return list(found.values())


def _items(held: Any) -> Iterator[Any]:
    found = held.values() if isinstance(held, dict) else held if isinstance(held, list) else ()
    return (item for item in found if type(item) not in _PLAIN)  # a vocabulary has many


def _may_change(thing: Any) -> bool:
    if isinstance(thing, np.ndarray):
        return not thing.dtype.hasobject and thing.nbytes <= MOST_BYTES and thing.flags.writeable
    if isinstance(thing, torch.Tensor | torch.nn.Module):
        return False
    kind = type(thing)
    return kind in (list, dict, set, deque, bytearray, SimpleNamespace) or (_is_users(kind) and _shows(thing))


def _is_users(kind: type) -> bool:
    module = sys.modules.get(kind.__module__)
    return is_own(str(getattr(module, "__file__", None) or "<")) or kind.__module__ == "__main__"


def _shows(thing: Any) -> bool:
    return isinstance(getattr(thing, "__dict__", None), dict) and not isinstance(thing, type)


def _read(thing: Any) -> Any:
    if isinstance(thing, deque):
        return list(thing)
    if isinstance(thing, bytearray):
        return bytes(thing)
    return thing.copy() if isinstance(thing, np.ndarray | list | dict | set) else dict(vars(thing))
