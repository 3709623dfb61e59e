"""Loops that read the lists that they fill, or build them anew: ``out[-1]``, ``len(out)``, ``out = out + [v]``."""

from __future__ import annotations

import itertools

import torch

from tests.everyday.case import Case


def ends(x):
    out = []
    for row in x:
        out.append(row * 2)  # the form is what is tested
    return out[-1], out[0], len(out)


def smoothed(x):
    out = [x[0]]
    for row in x[1:]:
        out.append(out[-1] * 0.5 + row)
    return torch.stack(out)


def summed(x):
    out = []
    for row in x:
        if out:
            out.append(out[-1] + row)
        else:
            out.append(row)
    return torch.cat(out)


def weighted(x):
    out = []
    for row in x:
        out.append(row * len(out))
    return torch.stack(out)


def added(x):
    out = []
    for row in x:
        out = out + [row.sum()]  # noqa: RUF005  # the form is what is tested
    return len(out), out[-1]


def put_before(words):
    out = []
    for word in words:
        out = [word, *out]
    return out


def extended(words):
    out = ["first"]
    for word in words:
        out += word.split("b")
        out.extend([word, word.upper()])
    out.append("last")
    return out


def distinct(words):
    out = []
    for word in words:
        if word not in out:
            out.append(word)
    out.sort()
    return out


def emptied(words):
    out, counts = [], []
    for word in words:
        if word == "b":
            counts.append(len(out))
            out = []
        else:
            out.append(word)
    counts.append(len(out))
    return counts


def begun(x):
    before, out = None, []
    for row in x:
        if before is not None and row.sum() > 0.5:
            out.append(row)
        before = row
    return out


def counted(words):
    out = []
    for i, word in zip(itertools.count(1), words):
        out.append(f"{i}. {word}")  # the form is what is tested
    return out


def far_apart(xs):
    kept = []
    for place in range(len(xs)):
        if all(abs(xs[place] - xs[other]) > 1 for other in kept):
            kept.append(place)
    return kept


def far_by_value(xs):
    kept = []
    for place, value in enumerate(xs):
        if not kept or min(abs(value - xs[other]) for other in kept) > 1:
            kept.append(place)
    return kept


def unlike(x):
    likeness, kept = (x @ x.T).tolist(), []
    for place in range(len(likeness)):
        if not any(likeness[place][other] > 0.9 for other in kept):
            kept.append(place)
    return kept, x[kept]


_NUMBERS = ([[3.0, 1.0, 5.0, 1.2]], [[[1.0]], [[2.0, 2.1, 9.0, 9.5, 4.0]]])
_ROWS = ([torch.rand(3, 2)], [[torch.rand(5, 2)], [torch.rand(1, 2)], [torch.rand(2, 2)]])
_WORDS = ([["a", "b", "ab"]], [[["c"]], [["q", "b", "q", "abba", "b"]], [[]]])
CASES = {
    "places that are far apart": Case(far_apart, *_NUMBERS),
    "values that are far apart": Case(far_by_value, *_NUMBERS),
    "rows that are unlike": Case(
        unlike, [torch.eye(3)[[0, 1, 0]]], [[torch.rand(5, 3)], [torch.eye(2)], [torch.rand(1, 4)]]
    ),
    "the ends and the length": Case(ends, *_ROWS),
    "the item before, in the list": Case(smoothed, [torch.rand(4, 2)], _ROWS[1][:1]),
    "whether there is one before": Case(summed, *_ROWS),
    "the length so far": Case(weighted, *_ROWS),
    "a list and one more": Case(added, *_ROWS),
    "one more before a list": Case(put_before, *_WORDS),
    "extend, and a list that has items": Case(extended, *_WORDS),
    "a search in the list": Case(distinct, *_WORDS),
    "a list that is emptied": Case(emptied, *_WORDS),
    "None beside a list": Case(begun, [torch.tensor([[0.2, 0.1], [0.9, 0.8]])], _ROWS[1]),
    "numbers without end": Case(counted, *_WORDS),
}


def held_twice(x):
    out, kept = [], []
    for row in x:
        out.append(row)
        kept.append(out)
    return kept[0], len(out)


def renamed(x):
    out = []
    for row in x:
        other = out
        out.append(row)
    return other


def changed_later(x):
    out = []
    for row in x:
        out.append(row * 2)  # the form is what is tested
    pair = (out, 1)
    out.append(x[0])
    return pair[0], len(out)


FIXED = [held_twice, renamed, changed_later]
"""Lists that are known by two names: as many rounds as the example has, or an error."""
