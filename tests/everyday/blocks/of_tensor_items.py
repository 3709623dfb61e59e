"""Loops that ask a tensor for its numbers one by one."""

from __future__ import annotations


def rle(x):
    out = []
    i = 0
    while i < len(x):
        j = i
        while j + 1 < x.shape[0] and int(x[j + 1]) == int(x[i]):
            j += 1
        out.append((x[i].item(), j - i + 1))
        i = j + 1
    return out


def grid(x):
    seen = set()
    count = 0
    for r in range(x.shape[0]):
        for c in range(x.shape[1]):
            if x[r, c].item() <= 0.5 or (r, c) in seen:
                continue
            count += 1
            stack = [(r, c)]
            while stack:
                a, b = stack.pop()
                if (a, b) in seen or not (0 <= a < x.shape[0] and 0 <= b < x.shape[1]) or float(x[a][b]) <= 0.5:
                    continue
                seen.add((a, b))
                stack.extend([(a + 1, b), (a - 1, b), (a, b + 1), (a, b - 1)])
    return count


def mixed(x):
    best, at = (-1000000000.0, -1)
    for i in range(len(x)):
        v = float(x[i])
        while v > 10:
            v /= 2
        if v > best:
            best, at = (v, i)
    return (x * 2, at)
