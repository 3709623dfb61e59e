"""A contest: which of some ways to compute the same takes the least time, on a machine that others share.

All take turns, so that another process slows all of them alike, and of each the least time counts: noise only adds.
Whoever is clearly slower leaves, and the time goes to those that are close: the more rounds there were, the less it
takes. Whom a way follows changes by chance, since it finds the caches as that one left them.
With several threads each turn begins with a rest.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from operator import mul
from typing import Any

import torch

ALIKE = 1.02  # of the least time, up to which ways are as fast
LEAST_ROUNDS, MOST_ROUNDS = 10, 100
_LEAST_TURNS, _MOST_TURNS = 3, 1000
_SURE, _SECONDS = 4, 1.0  # rounds, and seconds of them, from which on those that are clearly slower leave
_REST = 0.05  # seconds before a turn with several threads: those of a runtime spin on after a run
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
    sure = max(_SURE, min(MOST_ROUNDS // 2, int(_SECONDS / sum(map(mul, calls, times)))))
    left, chance, rounds = list(range(len(ways))), random.Random(0), 0
    while rounds < _SURE or (len(left) > 1 and rounds < MOST_ROUNDS):
        if rounds >= LEAST_ROUNDS and time.perf_counter() > until:
            break
        chance.shuffle(left)
        for index in left:
            times[index] = min(times[index], _turn(ways[index], calls[index], again=calls[index] > 1))
        rounds += 1
        if rounds >= sure:
            most = min(times) * max(ALIKE, 1 + 1 / rounds)
            left = [index for index in left if times[index] <= most]
    return times


def interleaved(ways: Sequence[Callable[[], Any]], seconds: float) -> list[float]:
    """The least seconds of a call of each way; all of them are measured as long."""
    best = [float("inf")] * len(ways)
    until = time.perf_counter() + seconds
    for way in ways:
        way()
    for number in range(_MOST_TURNS):
        if number >= _LEAST_TURNS and time.perf_counter() > until:
            break
        for index, way in enumerate(ways):
            best[index] = min(best[index], _turn(way, 1, again=best[index] < _TURN and torch.get_num_threads() > 1))
    return best


def _turn(way: Callable[[], Any], calls: int, again: bool) -> float:
    """Seconds of a call in one turn, in which a call that does not count may come first."""
    if torch.get_num_threads() > 1:
        time.sleep(_REST)
    if again:
        way()
    return _timed(way, calls)


def _timed(way: Callable[[], Any], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        way()
    return (time.perf_counter() - start) / calls
