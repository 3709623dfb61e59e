"""Lists of one name that a function goes on to change: sorted in place, appended to in one loop after another."""

from __future__ import annotations

import torch

from tests.everyday.case import Case


def sorted_scores(x):
    found = x.tolist()
    found.sort(reverse=True)
    found.append(1.5)
    found.reverse()
    return found


def ordered(text):
    words = text.split()
    words.sort(key=len)
    words.extend(["a", "b"])
    words.insert(0, "first")
    return words


def in_rounds(rows):
    found = []
    for row in rows:
        words = row.split()
        words.sort(key=len, reverse=True)
        if len(words) > 2:
            words.append("more")
        found.append(" ".join(words))
    return found


def one_after_another(xs, ys):
    found = []
    for x in xs:
        if x != "z":
            found.append(x + "!")  # noqa: PERF401  # the form is tested
    found.append("then")
    for y in ys:
        found.append(y + "?")  # noqa: PERF401  # the form is tested
    found.sort(key=lambda text: text[-1])
    for y in ys:
        found.append(y + str(len(found)))
    return found, len(found)


def dict_and_set(xs, ys):
    counts, seen, fresh = {}, set(), []
    for x in xs:
        counts[x] = 1
        seen.add(x)
    for y in ys:
        counts[y] = counts.get(y, 0) + 2
        if y not in seen:
            seen.add(y)
            fresh.append(y)
    return counts, sorted(seen), fresh


def with_split(text):
    words, total = text.split(), 0
    for word in text.split():
        words.append(word.upper())
        total += len(word)
    return words, total


def nested(xs, ys):
    found = []
    for x in xs:
        inner = []
        for y in ys:
            inner.append(x + y)  # noqa: PERF401  # the form is tested
        inner.sort(reverse=True)
        for y in ys:
            inner.append(y)  # noqa: PERF402  # the form is tested
        found.extend(inner)
    return found


def other_name(text):
    words = text.split()
    kept = words
    words.sort()
    return kept


def kept_in_dict(text):
    words = text.split()
    table = {"words": words}
    words.sort()
    return table


REFUSED = [other_name, kept_in_dict]
_TWO = ([["a", "z"], ["b", "b"]], [[["a", "c"], ["b", "q", "a"]], [["z"], ["y"]]])
CASES = {
    "a list of numbers": Case(sorted_scores, [torch.rand(3)], [[torch.rand(1)], [torch.rand(6)]]),
    "words": Case(ordered, ["aa b cc"], [["x"], ["xxx y zz w"]]),
    "in each round": Case(in_rounds, [["a bb ccc", "q"]], [[["q"]], [["x yy", "zzz y x w", "s"]]]),
    "one loop after another": Case(one_after_another, *_TWO),
    "a dict and a set in two loops": Case(dict_and_set, *_TWO),
    "words of a call": Case(with_split, ["a b"], [["q r s"], ["t"]]),
    "a loop in a loop": Case(nested, *_TWO),
}
