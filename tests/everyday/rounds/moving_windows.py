"""Loops with a deque: moving windows, and queues from which the oldest item is taken."""

from __future__ import annotations

import collections
from collections import deque

import torch

from tests.everyday.case import Case


def moving_mean(xs):
    window, found = deque(maxlen=3), []
    for x in xs:
        window.append(x)
        found.append(sum(window) / len(window))
    return found


def full_windows(xs):
    window, found = collections.deque(maxlen=2), []
    for x in xs:
        window.append(x)
        if len(window) == window.maxlen:
            found.append(max(window))
    return found


def running_mean(xs):
    window, total, found = deque(), 0.0, []
    for x in xs:
        window.append(x)
        total += x
        if len(window) > 3:
            total -= window.popleft()
        found.append(total / len(window))
    return found


def last_two(xs):
    window = deque([0.0, 0.0], 2)
    for x in xs:
        window.appendleft(x)
    return [window[0], window[-1]]


def rises(xs):
    window, found = deque(maxlen=2), []
    for x in xs:
        if window and x > window[-1]:
            found.append(x - window[0])
        window.append(x)
    return found


def snapshots(xs):
    window, found = deque(maxlen=2), []
    for x in xs:
        window.append(x)
        found.append(list(window))
    return found


def changed_after(xs):
    window = deque(maxlen=3)
    for x in xs:
        window.extend([x, x + 1.0])
    window.append(7.0)
    window.appendleft(5.0)
    return [*window]


def kept_nothing(xs):
    window = deque(maxlen=0)
    for x in xs:
        window.append(x)
    return len(window)


def smoothed_rows(table):
    window, found = deque(maxlen=3), []
    for row in table:
        window.append(row)
        found.append(torch.stack(list(window)).mean(0))
    return torch.stack(found)


_NUMBERS = ([[0.1, 0.7, 0.3, 0.9, 0.2]], [[[0.5, 0.4]], [[0.1, 0.2, 0.3, 0.3, 0.9, 0.8, 0.1]], [[0.2]]])

CASES = {
    **{
        process.__name__: Case(process, *_NUMBERS)
        for process in (
            moving_mean, full_windows, running_mean, last_two, rises, snapshots, changed_after, kept_nothing,
        )
    },
    "smoothed_rows": Case(smoothed_rows, [torch.rand(4, 2)], [[torch.rand(7, 2)], [torch.rand(1, 2)]]),
}  # fmt: skip
