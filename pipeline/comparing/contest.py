"""A contest: which of some ways to compute the same takes the least time, on a machine that others share.

All take turns, so that another process slows all of them alike, and of each the least time counts: noise only adds.
Whoever is clearly slower leaves, and the time goes to those that are close: the more rounds there were, the less it
takes. Whom a way follows changes by chance, since it finds the caches as that one left them.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import Any

ALIKE = 1.02  # of the least time, up to which ways are as fast
LEAST_ROUNDS, MOST_ROUNDS = 10, 100
_SURE = 4  # rounds, from which on those that are clearly slower leave
_TURN = 2e-3  # seconds: a call that takes less is repeated, after one that brings back what others pushed out of caches
_MOST_CALLS = 200


def contest(ways: Sequence[Callable[[], Any]], seconds: float) -> list[float]:
    """The least seconds of a call of each way; those that are close to the fastest were measured the longest.

    Args:
        ways: what to call.
        seconds: after which no further round begins. It ends before where one is left, or those that are left are
            alike. A few rounds are made in any case.
    """
    until = time.perf_counter() + seconds
    for way in ways:
        way()  # the first call makes what later ones keep
    times = [_timed(way, 1) for way in ways]
    calls = [max(1, min(_MOST_CALLS, int(_TURN / seconds))) for seconds in times]
    left, chance, rounds = list(range(len(ways))), random.Random(0), 0
    while rounds < _SURE or (len(left) > 1 and rounds < MOST_ROUNDS):
        if rounds >= LEAST_ROUNDS and time.perf_counter() > until:
            break
        chance.shuffle(left)
        for index in left:
            times[index] = min(times[index], _turn(ways[index], calls[index]))
        rounds += 1
        if rounds >= _SURE:
            most = min(times) * max(ALIKE, 1 + 1 / rounds)
            left = [index for index in left if times[index] <= most]
    return times


def _turn(way: Callable[[], Any], calls: int) -> float:
    """Seconds of a call in one turn."""
    if calls > 1:
        way()
    return _timed(way, calls)


def _timed(way: Callable[[], Any], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        way()
    return (time.perf_counter() - start) / calls
