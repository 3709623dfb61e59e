"""Sets, counters and lists of lists, as people write them."""

from __future__ import annotations

import collections
import itertools
from collections import Counter
from itertools import chain

import torch

from tests.everyday.case import Case

LABELS = ["cat", "dog", "fox", "hen", "pig"]
TEXTS = ["One ", "two", "two"]
LISTS = [[["a"]], [["x", "", "Y z", "x"]], [[]], [["b", "a", "b", "a", "b"]]]
ROWS = torch.arange(15.0).reshape(3, 5).sin()
MORE = [[torch.arange(35.0).reshape(7, 5).cos()], [torch.arange(5.0).reshape(1, 5).neg()]]


def bag_of_words(text):
    counts = Counter(text.lower().split())
    return torch.tensor([counts[word] for word in ("the", "a", "cat")])


def best_label(x):
    scores = dict(zip(LABELS, x[0].tolist(), strict=True))
    return max(scores, key=scores.get), sorted(scores, key=scores.get, reverse=True)


def many(process):
    return Case(process, [TEXTS], LISTS)


def rows(process):
    return Case(process, [ROWS], MORE)


def overlap(one, other):
    counts, others = Counter(one.split()), Counter(other.split())
    return sum(min(counts[word], others[word]) for word in counts) / max(len(other.split()), 1)


def similarity(one, other):
    words, others = set(one.split()), set(other.split())
    return len(words & others) / max(len(words | others), 1), sorted(words - others)


PAIRS = [["x", "y z"], ["q q q", "q q"], ["", ""]]

CASES = {
    "common words": Case(overlap, ["a b c", "a b"], PAIRS),
    "similarity of two texts": Case(similarity, ["a b c", "a b"], PAIRS),
    "a set and keys": many(lambda texts: [set(texts) == {"a": 1}.keys(), {"two": 1, "one": 2}.keys() == set(texts)]),
    "sorted set": many(lambda texts: sorted(set(texts))),
    "size of a set": many(lambda texts: (len(set(texts)), len(texts) != len(set(texts)))),
    "in a set": many(lambda texts: ["a" in set(texts), "two" in set(texts)]),
    "set of a generator": many(lambda texts: sorted(set(text.lower() for text in texts), reverse=True)),  # noqa: C401  # the form is tested
    "two sets": many(lambda texts: sorted(set(texts) | {"zz", "two"})),
    "without repeats": many(lambda texts: list(dict.fromkeys(texts))),
    "dict of keys": many(lambda texts: dict.fromkeys(texts, 0)),
    "most common": many(lambda texts: Counter(texts).most_common()),
    "two most common": many(lambda texts: collections.Counter(texts).most_common(2)),
    "counted": many(lambda texts: dict(Counter(texts))),
    "counted letters": many(lambda texts: Counter("".join(texts)).most_common(1)),
    "asked for a count": many(lambda texts: Counter(text[:1] for text in texts)["t"] + Counter(texts).total()),
    "lines of counts": many(lambda texts: [f"{text}: {count}" for text, count in Counter(texts).items()]),
    "largest count": many(lambda texts: max(Counter(["z", *texts]).items(), key=lambda pair: pair[1])),
    "majority": rows(lambda x: LABELS[Counter(x.argmax(-1).tolist()).most_common(1)[0][0]]),
    "counted labels": rows(lambda x: dict(Counter(LABELS[i] for i in x.argmax(-1).tolist()))),
    "different labels": rows(lambda x: sorted({*()} | set([LABELS[i] for i in x.argmax(-1).tolist()]))),  # noqa: C403  # the form is tested
    "best label of a dict": rows(best_label),
    "bag of words": Case(bag_of_words, ["The cat the mat"], [["a"], [""]]),
    "words of all": many(lambda texts: list(chain.from_iterable(text.split() for text in texts))),
    "words of all in capitals": many(
        lambda texts: [word.upper() for word in itertools.chain.from_iterable([text.split() for text in texts])]
    ),
    "lists in a list": Case(
        lambda lists: list(chain.from_iterable(lists)), [[[1, 2], [3]]], [[[[1]]], [[[], [4, 5, 6]]]]
    ),
}
