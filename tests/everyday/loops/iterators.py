"""Generators with conditions, `next`, and itertools' `pairwise`, `chain` and `islice`, over lists of any length."""

from __future__ import annotations

import itertools
from itertools import chain, islice, pairwise

import torch

from tests.everyday.case import Case


def joined(words):
    return " ".join(word for word in words if len(word) > 1), sum(len(word) for word in words if word != "bb")


def asked(words):
    long = any(word.startswith("r") for word in words if len(word) > 1)
    return long, sorted(word for word in words if word > "b"), max((len(word) for word in words if word), default=0)


def starred(words):
    return ["<", *(word.upper() for word in words if word != "bb"), ">"]


def found(words):
    return next((word for word in words if len(word) > 1), "none"), next((len(w) for w in words if w > "b"), -1)


def first(words):
    return next(word + "!" for word in words)


def steps(words):
    return [one + two for one, two in itertools.pairwise(words)], sum(len(a) - len(b) for a, b in pairwise(words))


def together(words, more):
    one = [word.upper() for word in itertools.chain(words, more, ["end"])]
    return one, len(list(chain((word for word in words if len(word) > 1), more)))


def parts(words):
    return list(itertools.islice(words, 2)), [word * 2 for word in islice(words, 1, None, 2)]


def windows(text, size, step):
    return [text[start : start + size] for start in range(0, max(len(text) - size, 0) + 1, step)]


def counted_down(x, step):
    total = torch.zeros(())
    for place in range(x.shape[0] - 1, -1, -step):
        total = total * 2 + x[place]
    return total, list(range(2, x.shape[0], step)), len(range(0, x.shape[0], step))


_WORDS = ([["a", "bb", "c"]], [[["x"]], [["p", "qq", "rrr", "sss", "bb"]], [[]]])
_TWO = ([["a", "bb"], ["c"]], [[["x"], ["y", "z"]], [["p", "qq", "rrr"], []], [[], []]])
CASES = {
    "joined": Case(joined, *_WORDS),
    "asked": Case(asked, *_WORDS),
    "starred": Case(starred, *_WORDS),
    "found": Case(found, *_WORDS),
    "first": Case(first, _WORDS[0], _WORDS[1][:2]),
    "steps": Case(steps, *_WORDS),
    "together": Case(together, *_TWO),
    "parts": Case(parts, *_WORDS),
    "windows": Case(windows, ["abcdefgh", 3, 2], [["abcdefgh", 4, 1], ["ab", 3, 2], ["abcdefghijk", 2, 5]]),
    "a range that goes down": Case(counted_down, [torch.rand(7), 2], [[torch.rand(9), 3], [torch.rand(1), 1]]),
}
