"""The plans that layers keep for the sizes that they met: those that this process used last.

A plan is one to three compiled libraries, each 40 KB of memory and 5 mappings, of which Linux gives a process 65530. So
the bound is one for all layers, and below that limit even if each plan is trained. A plan that is made again finds its
libraries on the disk.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict, deque
from collections.abc import Callable
from itertools import count
from threading import Lock

from .plan import Plan

MOST_PLANS = 4096
"""Plans of all layers together."""

_latest: OrderedDict[tuple[int, object], weakref.ref[KeptPlans]] = OrderedDict()
"""The owner of each plan, the one that was used last at the end."""
_lock = Lock()
_numbers = count()
_dead: deque[tuple[int, list[object]]] = deque()
"""Owners that are gone, with their keys. They end in the middle of anything, so that a lock must not be asked for."""


class KeptPlans:
    """The plans of one layer, by sizes, device and options."""

    def __init__(self) -> None:
        self._plans: dict[object, Plan] = {}
        self._number, self._self = next(_numbers), weakref.ref(self)
        weakref.finalize(self, _drop, self._number, self._plans).atexit = False

    def __len__(self) -> int:
        return len(self._plans)

    def get(self, key: object, make: Callable[[], Plan]) -> Plan:
        """The plan of a key, made where there is none; the plan that was used longest ago makes room for it."""
        plan = self._plans.get(key) or self._plans.setdefault(key, make())
        with _lock:
            _forget_the_dead()
            _latest[self._number, key] = self._self
            _latest.move_to_end((self._number, key))
            gone = _latest.popitem(last=False) if len(_latest) > MOST_PLANS else None
        if gone is not None and (owner := gone[1]()) is not None:
            owner._plans.pop(gone[0][1], None)
        return plan


def _drop(number: int, plans: dict[object, Plan]) -> None:
    _dead.append((number, list(plans)))
    plans.clear()


def _forget_the_dead() -> None:
    while _dead:
        number, keys = _dead.popleft()
        for key in keys:
            _latest.pop((number, key), None)
