"""Lists reduced without a loop: `reduce`, `accumulate`, `max` with a default or a key, `sum` with a start."""

from __future__ import annotations

import functools
import itertools
import operator

import torch

from tests.everyday.case import Case


def reduced(x):
    return functools.reduce(lambda a, b: a * 0.5 + b, x), functools.reduce(torch.maximum, x, torch.zeros(2))


def added(tensors):
    return functools.reduce(operator.add, tensors)


def sized(words):
    return functools.reduce(lambda count, word: count + len(word), words, 0)


def running_of_any(words, xs):
    lengths = list(itertools.accumulate(map(len, words)))
    return lengths, list(itertools.accumulate(words)), [x + 1 for x in itertools.accumulate(xs, operator.mul)]


def running(x):
    out = []
    for found in itertools.accumulate(x.tolist()):
        out.append(found * 2)  # the form is what is tested
    return out, list(itertools.accumulate(x.tolist(), max, initial=0.5))


def running_rows(x):
    return torch.stack(list(itertools.accumulate(x, lambda a, b: a * 0.5 + b)))


def defaults(words):
    longest = max(words, key=len, default="none")
    return longest, max((len(word) for word in words), default=0), sum([len(word) for word in words], start=5)


def largest(tensors):
    return max(tensors, key=lambda tensor: float(tensor.sum()))


_ROWS = ([torch.rand(3, 2)], [[torch.rand(n, 2)] for n in (1, 2, 5)])
_NUMBERS = ([torch.tensor([0.2, 0.9, 0.4])], [[torch.rand(5)], [torch.rand(1)]])
_WORDS = ([["a", "bb", "c"]], [[["x"]], [["p", "qq", "rrr", "sss"]], [[]]])
_TENSORS = ([[torch.rand(2), torch.rand(2)]], [[[torch.rand(2)]], [[torch.rand(2) for _ in range(4)]]])
CASES = {
    "rows": Case(reduced, *_ROWS),
    "an operator": Case(added, *_TENSORS),
    "a count": Case(sized, *_WORDS),
    "running sums": Case(running, *_NUMBERS),
    "running sums of what may be empty": Case(
        running_of_any, (["b", "a", "bb"], [2, 3]), [([], []), (["x"], [5]), (["x", "yy"], [5, 2, 9])]
    ),
    "running rows": Case(running_rows, *_ROWS),
    "defaults": Case(defaults, *_WORDS),
    "the largest tensor": Case(largest, *_TENSORS),
}
