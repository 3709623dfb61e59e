"""Plain loops that fill a new dict, and comprehensions of sets: of any length, as comprehensions are."""

from __future__ import annotations

import torch

from tests.everyday.case import Case

LABELS = ["cat", "dog", "fox", "owl"]


def pairs(items):
    found = {}
    for key, value in items:
        found[key] = value
    return found


def last(x):
    found = {}
    for row in x[x > 0]:
        found["last"] = row
    return found


def words(texts):
    sizes = {}
    for text in texts:
        word = text.strip().lower()
        if not word:
            continue
        sizes[word] = len(word)
    return sizes, len(sizes), sizes.get("a", -1)


def both(texts, scores):
    found = {}
    for text, score in zip(texts, scores.tolist(), strict=True):
        if score > 0.5:
            found[text] = score * 2
        else:
            found[f"{text}?"] = score
    return [f"{key}={value:.2f}" for key, value in found.items()]


def places(texts):
    at = {}
    for i, text in enumerate(texts):
        at[text] = i
    out = []
    for key in at:
        out.append(key.upper())
    result = {}
    result["at"] = at
    result["keys"] = out
    return result


def labels(logits):
    scores = {}
    for i, row in enumerate(logits):
        scores[LABELS[row.argmax().item()]] = i
    return scores


def of_constants(text):
    found = {}
    for label in LABELS:
        found[f"{text} {label}"] = len(label)
    return found


def distinct(texts):
    return sorted({text.strip().lower() for text in texts}), len({len(text) for text in texts if text})


def made_of_pairs(texts):
    return dict((text.strip().upper(), len(text)) for text in texts)  # noqa: C402  # the form is what is tested


def among(texts, text):
    return text.lower() in {each.lower() for each in texts}


def equal_sets(texts, others):
    found = {text.lower() for text in texts}
    same = found == {other.lower() for other in others}
    return same, found == {"b", "a"}, {"dog"} == found, "one" if found == {"a"} else "other", found == ["a"]


def equal_dicts(texts):
    found = {}
    for text in texts:
        found[text] = len(text)
    return found == {"b": 1, "a": 1}, found == {"dog": 3.0}, found == {text: len(text) for text in reversed(texts)}


def equal_views(texts):
    table = {text: len(text) for text in texts}
    same = list(table.items()) == [("a", 1), ("b", 1)], list(table) == ["a", "b"], list(range(len(texts))) == [0, 1]
    return same, table.items() == [("a", 1), ("b", 1)]


TEXTS = [" Cat ", "dog"]
VIEWS = [
    lambda texts: dict.fromkeys(texts, 1).keys() == {"a": 1, "b": 1}.keys(),
    lambda texts: dict.fromkeys(texts, 1).values() == [1],
    equal_views,
    lambda texts: range(len(texts)) == [0],
]
CASES = {
    "pairs": Case(pairs, [[("a", 1), ("b", 2)]], [[[("x", 5), ("y", 6), ("x", 7)]]]),
    "words": Case(words, [TEXTS], [[["a", "", "A", "bcd "]], [["x"]]]),
    "two ways": Case(both, [["a", "b"], torch.tensor([0.2, 0.9])], [[["a", "b", "a"], torch.tensor([0.1, 0.2, 0.7])]]),
    "places": Case(places, [TEXTS], [[["c", "a", "c"]]]),
    "one key": Case(last, [torch.tensor([1.0, -1.0, 2.0])], [[torch.tensor([3.0, 4.0, 5.0])], [-torch.ones(2)]]),
    "labels": Case(labels, [torch.rand(2, 4)], [[torch.eye(4)[[3, 1, 3]]]]),
    "constants": Case(of_constants, ["a"], [["b"], [""]]),
    "dict of a generator": Case(made_of_pairs, [TEXTS], [[["a", "b ", "a"]], [[]]]),
    "a set": Case(distinct, [TEXTS], [[["b", "a", " B", ""]]]),
    "equal sets": Case(equal_sets, [TEXTS, ["dog"]], [[["a", "B"], ["b", "A", "b"]], [["A"], []], [["dog"], ["DOG"]]]),
    "equal dicts": Case(equal_dicts, [TEXTS], [[["a", "b"]], [["dog"]], [["b", "c", "b"]], [[]]]),
    "in a set": Case(among, [TEXTS, "DOG"], [[["a", "b", "c"], "c"], [["a"], "x"]]),
}
