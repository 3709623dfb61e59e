"""Comprehensions with several `for`, and sets that are made of what run time gives: of any length."""

from __future__ import annotations

from collections import Counter

import torch

from tests.everyday.case import Case

LABELS = ["a", "b"]
TEXTS = [["a b", "c"]]
LISTS = [[["x"]], [["a b a", "", "q"]], [[]]]


def of_texts(process):
    return Case(process, TEXTS, LISTS)


def of_two(process):
    return Case(process, ["b a", "b"], [["c", "d e f"], ["x", "x"], ["", "a"]])


def of_one(process):
    return Case(process, ["a ab b"], [["bb"], ["x"], ["a a b ab abc"]])


RECORDS = [{"name": "a", "tags": ["x", "y"]}, {"name": "b", "tags": ["z"]}]
MORE = [{"name": "q", "tags": ["l", "m", "n"]}, {"name": "r", "tags": []}, {"name": "s", "tags": ["o"]}]

CASES = {
    "words": of_texts(lambda texts: [word for text in texts for word in text.split()]),
    "chosen words": of_texts(
        lambda texts: [word.upper() for text in texts if text.strip() for word in text.split() if word != "a"]
    ),
    "letters of words": of_texts(lambda texts: [letter for text in texts for word in text.split() for letter in word]),
    "number of letters": of_texts(lambda texts: sum(len(word) for text in texts for word in text.split())),
    "words of a generator": of_texts(lambda texts: "|".join(word for text in texts for word in text.split())),
    "whether a word is there": of_texts(lambda texts: any(word == "q" for text in texts for word in text.split())),
    "the first word": of_texts(lambda texts: next((w for text in texts for w in text.split() if w > "b"), "none")),
    "counted words": of_texts(lambda texts: dict(Counter(word for text in texts for word in text.split()))),
    "a set of words": of_texts(lambda texts: sorted({word for text in texts for word in text.split()})),
    "a dict of words": of_texts(lambda texts: {word: len(text) for text in texts for word in text.split()}),
    "constants inside": of_texts(lambda texts: [f"{key}{text}" for text in texts for key in LABELS if key in text]),
    "in a comprehension": of_texts(lambda texts: [[c + d for c in text for d in "xy"] for text in texts]),
    "around a comprehension": of_texts(lambda texts: [[c for c in word] for text in texts for word in text.split()]),  # noqa: C416  # the form is tested
    "pairs": Case(
        lambda xs, ys: [f"{x}{y}" for x in xs for y in ys if x != y], [["a", "b"], ["c"]], [[["a"], ["a", "b", "c"]]]
    ),
    "products": Case(lambda xs: [x * y for x in xs for y in xs], [[1, 2]], [[[3]], [[1, 2, 3]]]),
    "numbers of rows": Case(
        lambda x: [v * 2 for row in x.tolist() for v in row],
        [torch.rand(2, 3)],
        [[torch.rand(3, 1)], [torch.rand(1, 4)]],
    ),
    "numbers of tensors": Case(
        lambda xs: torch.stack([v * 2 for x in xs for v in x]),
        [[torch.rand(2), torch.rand(3)]],
        [[[torch.rand(1)]], [[torch.rand(4), torch.rand(1), torch.rand(2)]]],
    ),
    "tags of records": Case(
        lambda records: [f"{record['name']}:{tag}" for record in records for tag in record["tags"]], [RECORDS], [[MORE]]
    ),
    "words of two texts": of_two(lambda one, two: [word for text in (one, two) for word in text.split()]),
    "a dict of two texts": of_two(lambda one, two: {word: len(t) for t in (one, two) for word in t.split()}),
    "lengths of two texts": of_two(lambda one, two: sum(len(word) for text in (one, two) for word in text.split())),
    "words for each label": of_one(lambda text: [word for key in LABELS for word in text.split() if key in word]),
    "sum for each label": of_one(lambda text: sum(len(w) for key in LABELS for w in text.split() if w.startswith(key))),
    "a set display": of_two(lambda one, two: len({*one.split(), *two.split(), "x"})),
    "sorted set display": of_two(lambda one, two: sorted({"q", *one.split(), two})),
    "a set of texts": of_two(lambda one, two: ("x" in {one, two, "y"}, len({one, two}))),
}
