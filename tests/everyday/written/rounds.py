"""Plain loops that data decides, as `functions` has branches."""

from __future__ import annotations

from tests.everyday.case import Case
from tests.everyday.written.functions import X, Y


def while_data(n):
    count = 0
    while n > 1:
        n = n // 2
        count += 1
    return count


def while_tensor(x):
    while x.max() < 100:
        x = x * 2
    return x


def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def break_else(words):
    for w in words:
        if w.startswith("x"):
            found = w
            break
    else:
        found = "none"
    return found


def left(n):
    steps = 0
    while True:
        if n <= 1:
            break
        n = n // 2
        steps += 1
    return steps


def left_at_the_end(x):
    while True:
        x = x + 1
        if x.sum() > 9:
            break
    return x


def in_loop(x, s, n):
    for factor in (2.0, 3.0):
        if s * factor > n:
            x = x * factor
        else:
            x = x - factor
    return x


CASES = {
    "while": Case(while_data, [9], [[1], [0], [1000]]),
    "while of a tensor": Case(while_tensor, [X], [[Y], [X * 1000]]),
    "a branch in a while": Case(collatz, [6], [[1], [7], [27]]),
    "break and else": Case(break_else, [["a", "xb"]], [[["a"]], [[]], [["xa", "xb", "c"]]]),
    "a loop around it": Case(in_loop, [X, 0.7, 2.0], [[Y, 0.2, 0.1], [Y, 0.9, -1.0]]),
    "a loop that is left": Case(left, [9], [[1], [0], [1000]]),
    "a loop that is left at its end": Case(left_at_the_end, [X], [[Y], [X * 0]]),
}
