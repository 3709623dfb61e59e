"""Loops in loops: over lists of lists, over rows and a list, over the letters of texts; each of any length."""

from __future__ import annotations

import torch

from tests.everyday.case import Case


def total(rows):
    found = 0.0
    for row in rows:
        for value in row:
            found = found * 0.5 + value
    return found


def totals(rows):
    out = []
    for row in rows:
        found = 0.0
        for value in row:
            found += value
        out.append(found)
    return out


def flat(rows):
    out = []
    for row in rows:
        out.append(-1.0)
        for value in row:
            if value > 1:
                out.append(value * len(out))
    return out


def letters(words):
    out, vowels = [], 0
    for i, word in enumerate(words):
        for letter in word:
            if letter in "aeiou":
                vowels += 1
                continue
            out.append(f"{i}{letter}")
    return out, vowels


def mixed(x, words):
    state = torch.zeros(2)
    for row in x:
        kept = []
        for word in words:
            kept.append(len(word))  # the form is what is tested
        for part in x.split(2):
            state = state * 0.5 + row * sum(kept) + part.sum(0)
    return state


def distances(x):
    found = torch.zeros(())
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            found = found + (x[i] - x[j]).norm()
    return found


EDGES, GROUPS = [0, 18, 30, 200], ["child", "young", "adult"]


def in_groups(ages):
    counts = {group: 0 for group in GROUPS}  # noqa: C420  # the form is tested
    for age in ages:
        for low, high, group in zip(EDGES, EDGES[1:], GROUPS):  # noqa: B905  # the form is tested: the shortest ends it
            if low <= age < high:
                counts[group] += 1
    return counts


def in_known_groups(ages):
    counts = {"child": 0, "young": 0, "adult": 0}
    for age in ages:
        for low, group in zip(EDGES[:3], GROUPS, strict=True):
            if age >= low:
                counts[group] += 1
    return counts


def own_variables(texts):
    word, last, found = "start", "", []
    for text in texts:
        found.append([word for word in text.split() if word != "b"])  # the form is tested
        last = text
    return found, word, last


def shadowed(texts):
    last, found = "", []
    for text in texts:
        found += [text for text in text.split()]  # noqa: C416  # the form is tested
        last = text
    return found, last


def until_long(texts):
    found = []
    for text in texts:
        if len(text) > 5:
            break
        found.append({word: [letter for letter in word if letter in "aeo"] for word in text.split()})
    return found


def first_long(texts):
    for text in texts:
        sizes = [len(word) for word in text.split()]
        if max(sizes, default=0) > 3:
            return "long"
    return "short"


_TEXTS = ([["a b", "c", "longer texts", "x"]], [[["b"]], [[]], [["a a", "b oe", "", "e longer", "a"]]])
_AGES = ([[3, 25, 40, 70]], [[[1]], [[]], [[18, 17, 30, 0, 199]]])
_LISTS = ([[[1.0, 2.0], [3.0]]], [[[[1.0]]], [[[0.5, 1.5, 2.0], [1.0, 4.0], [2.0]]]])
_ROWS = ([torch.rand(3, 2)], [[torch.rand(n, 2)] for n in (1, 2, 5)])
CASES = {
    "one sum": Case(total, *_LISTS),
    "a sum for each": Case(totals, *_LISTS),
    "one list": Case(flat, *_LISTS),
    "letters": Case(letters, [["ab", "oxo"]], [[["x"]], [["aei", "", "bcd", "q"]], [[]]]),
    "rows, a list and pieces": Case(
        mixed, [torch.rand(3, 2), ["a", "bb"]], [[torch.rand(5, 2), ["q"]], [torch.rand(1, 2), ["a", "b", "ccc"]]]
    ),
    "pairs": Case(distances, *_ROWS),
    "groups of a comprehension": Case(in_groups, *_AGES),
    "known groups": Case(in_known_groups, *_AGES),
    "a comprehension's own variables": Case(own_variables, *_TEXTS),
    "a comprehension that shadows": Case(shadowed, *_TEXTS),
    "comprehensions and a break": Case(until_long, *_TEXTS),
    "a comprehension and a return": Case(first_long, *_TEXTS),
}
