"""``while`` loops: of as many rounds as their conditions allow, which lists, numbers and texts decide."""

from __future__ import annotations

from tests.everyday.case import Case


def total(xs):
    i, found = 0, 0
    while i < len(xs):
        found += xs[i]
        i += 1
    return found


def drained(xs):
    stack, found = list(xs), []
    while stack:
        top = stack.pop()
        found.append(top)
        if top > 2:
            stack.append(top // 2)
    return found


def bisected(xs):
    ordered = sorted(xs)
    low, high = 0, len(ordered)
    while low < high:
        middle = (low + high) // 2
        if ordered[middle] < 3:
            low = middle + 1
        else:
            high = middle
    return low


def merged(xs):
    one, other = sorted(xs), [1, 4]
    i = j = 0
    found = []
    while i < len(one) and j < len(other):
        if one[i] <= other[j]:
            found.append(one[i])
            i += 1
        else:
            found.append(other[j])
            j += 1
    return found + one[i:] + other[j:]


def runs(xs):
    i, found = 0, []
    while i < len(xs):
        j = i
        while j < len(xs) and xs[j] == xs[i]:
            j += 1
        found.append((xs[i], j - i))
        i = j
    return found


def chunks(xs):
    i, found = 0, []
    while chunk := xs[i : i + 2]:
        found.append(sum(chunk))
        i += 2
    return found


def first_one(xs):
    i = 0
    while i < len(xs):
        if xs[i] == 1:
            return i
        i += 1
    return -1


def skipping(xs):
    i, found = 0, 0
    while i < len(xs):
        i += 1
        if xs[i - 1] == 1:
            continue
        if xs[i - 1] > 7:
            break
        found += xs[i - 1]
    return found


def flagged(xs):
    i, done = 0, False
    while not done:
        i += 1
        done = i > len(xs)
    return i


def either(xs):
    i = 0
    while i < 2 or i < len(xs):
        i += 1
    return i


def in_a_row(xs):
    i = 0
    while 0 <= i < len(xs):
        i += 1
    return i


def halved(xs):
    """The inner loop is the last line of the outer one's body, and leaves out a number by `continue` before."""
    found, total = [], 0
    for x in xs:
        if x == 4:
            continue
        found.append(x)
        left = x
        while left > 1 and total < 9:
            left //= 2
            total += left
    return found, total


def left_out(xs):
    """A comprehension stands in the body."""
    left, found = list(xs), []
    while left:
        first = left[0]
        left = [x for x in left if x != first]
        found.append([first + x for x in left if x > first])
    return found


def sorted_in_place(xs):
    found = list(xs)
    for i in range(1, len(found)):
        j = i
        while j > 0 and found[j - 1] > found[j]:
            found[j - 1], found[j] = found[j], found[j - 1]
            j -= 1
    return found


def until(xs):
    """Python fails where no item is 1."""
    i = 0
    while xs[i] != 1:
        i += 1
    return i


def tokens(text):
    found, i = [], 0
    while i < len(text):
        if text[i] == " ":
            i += 1
            continue
        j = i
        while j < len(text) and text[j] != " ":
            j += 1
        found.append(text[i:j])
        i = j
    return found


def collapsed(text):
    while "  " in text:
        text = text.replace("  ", " ")
    return text


def collatz(n):
    found = [n]
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        found.append(n)
    return found


def divisor(a, b):
    while b:
        a, b = b, a % b
    return a


_NUMBERS = ([[3, 1, 2]], [[[]], [[5]], [[4, 9]], [[7, 1, 1, 8, 2, 3, 3]]])
_LISTS = (
    total, drained, bisected, merged, runs, chunks, first_one, skipping, flagged, either, in_a_row, halved,
    left_out, sorted_in_place,
)  # fmt: skip
_TEXTS = (["ab  c"], [[""], ["x"], ["  y "], ["a b   cd ef  g"]])

CASES = {
    **{process.__name__: Case(process, *_NUMBERS) for process in _LISTS},
    "tokens": Case(tokens, *_TEXTS),
    "collapsed": Case(collapsed, *_TEXTS),
    "collatz": Case(collatz, [6], [[1], [2], [7], [27]]),
    "divisor": Case(divisor, [12, 8], [[0, 5], [5, 0], [7, 21], [1071, 462]]),
}
