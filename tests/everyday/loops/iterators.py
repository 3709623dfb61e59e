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


def after_the_first(words):
    rest = iter(words)
    before, found = next(rest, ""), []
    for word in rest:
        found.append(before + word)
        before = word
    return found


def under_the_head(words):
    rest = iter(words)
    head = next(rest)
    return [{head: word} for word in rest]


def longest(words):
    rest = iter(words)
    best, place = next(rest), 0
    for i, word in enumerate(rest, 1):
        if len(word) > len(best):
            best, place = word, i
    return best, place


def in_pairs(words):
    rest = iter(words)
    return [a + b for a, b in zip(rest, rest, strict=False)]


def two_and_more(words):
    rest, count = iter(words), sum(map(len, iter(words)))
    return next(rest, "-"), next(rest, "-"), list(rest), count, next(iter(dict.fromkeys(words, 1)), "none")


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
    "after the first one": Case(after_the_first, *_WORDS),
    "under the head": Case(under_the_head, _WORDS[0], _WORDS[1][:2]),
    "the longest": Case(longest, _WORDS[0], _WORDS[1][:2]),
    "in pairs": Case(in_pairs, *_WORDS),
    "two, and more": Case(two_and_more, *_WORDS),
    "windows": Case(windows, ["abcdefgh", 3, 2], [["abcdefgh", 4, 1], ["ab", 3, 2], ["abcdefghijk", 2, 5]]),
    "a range that goes down": Case(counted_down, [torch.rand(7), 2], [[torch.rand(9), 3], [torch.rand(1), 1]]),
}


def asked_in_the_loop(words):
    rest, found = iter(words), []
    for word in rest:
        found.append(word + next(rest, ""))
    return found


def asked_after_a_loop(words):
    rest = iter(words)
    for word in rest:
        if word == "bb":
            break
    return list(rest)


ASKED = [asked_in_the_loop, asked_after_a_loop]
"""What asks an iterator while a loop goes through it, or behind that."""
