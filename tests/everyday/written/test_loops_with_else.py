"""Loops with an `else` that hands on what the loop changes: right for any input, or refused.

No input that a trace tries by itself gets to these sides.
"""

from __future__ import annotations

import warnings

import pytest

import tracepack
from tests.everyday.case import loaded


def last_of_carried(xs):
    last = 0
    for x in xs:
        last = x
        if x > 40:
            found = x
            break
    else:
        found = last
    return found


def last_item(xs):
    x = -1
    for x in xs:
        if x > 40:
            found = x
            break
    else:
        found = x
    return found


def largest_divisor(xs):
    tried = 0
    for d in range(2, 50):
        tried = d
        if xs[0] % d == 0:
            found = d
            break
    else:
        found = tried
    return found


def counted_down(xs):
    n = xs[0]
    for d in range(2, 50):
        n -= 1
        if n % d == 0:
            found = d
            break
    else:
        found = n
    return found


def left_otherwise(xs):
    found = 7
    for x in xs:
        if x % 1000 == 999:
            break
        if x > 40:
            found = x
            break
    else:
        found = -1
    return found


@pytest.mark.parametrize(
    "process",
    [last_of_carried, last_item, largest_divisor, counted_down, left_otherwise],
    ids=lambda each: each.__name__,
)
def test_an_else_of_a_loop_gives_what_the_loop_left_behind(process) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mod = loaded(process, [3, 50, 2])
    for given in ([3, 50, 2], [1], [4, 5], [97], [0], [31337, 2], [2, 999, 50], [-999, 3], [3, 999]):
        try:
            found = mod(given)
        except tracepack.TracepackError:  # a length, or a way, that the recording does not hold for
            continue
        assert found == process(given), given
