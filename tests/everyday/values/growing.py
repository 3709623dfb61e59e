"""Loops that fill dicts and sets and read them: counts, groups, texts that were seen; of any length."""

from __future__ import annotations

import collections
from collections import Counter, defaultdict

import torch

from tests.everyday.case import Case


def counts(words):
    found = {}
    for word in words:
        found[word] = found.get(word, 0) + 1
    return found


def counts_that_branch(words):
    found = {}
    for word in words:
        if word in found:
            found[word] += 1
        else:
            found[word] = 1
    return found


def counts_of_a_default(words):
    found = defaultdict(int)
    for word in words:
        found[word] += 1
    return dict(found)  # as a result a defaultdict is a dict


def lengths_of_a_default(words):
    found = collections.defaultdict(lambda: 0)
    for word in words:
        found[word.lower()] += len(word)
    return dict(found), len(found)


def counted(words):
    found = Counter()
    for word in words:
        found[word] += 1
    return found.most_common(2)


def groups(words):
    found = {}
    for word in words:
        found.setdefault(word[:1], []).append(word)
    return found


def places(words):
    found = defaultdict(list)
    for place, word in enumerate(words):
        found[word].append(place)
    return {word: sum(places) for word, places in found.items()}


def groups_that_branch(words):
    found = {}
    for word in words:
        if word not in found:
            found[word] = []
        found[word].append(len(word))
    return found


def without_repeats(words):
    seen, out = set(), []
    for word in words:
        if word in seen:
            continue
        seen.add(word)
        out.append(word)
    return out


def lowered(words):
    seen = set()
    for word in words:
        seen.add(word.lower())
    return sorted(seen), len(seen)


def called_list(words):
    out = list()  # noqa: C408  # the form is what is tested, here and below
    for word in words:
        out.append(word.upper())  # noqa: PERF401  # the form is tested
    return out


def called_dict(words):
    out = dict()  # noqa: C408
    for word in words:
        out[word] = len(word)
    return out


def known_keys(words):
    found = {"first": 0, "other": 0}
    for word in words:
        if word == "a":
            found["first"] += 1
        else:
            found["other"] += 1
    return found


def records(words):
    out = []
    for word in words:
        record = {}
        record["word"] = word
        record["length"] = len(word)
        out.append(record)
    return out


def changed_later(words):
    found = {}
    for word in words:
        found[word] = found.get(word, 0) + 1
    found["in all"] = len(words)
    return found


def repeats(words):
    seen, found = {}, []
    for place, word in enumerate(words):
        if word in seen:
            found.append((word, seen[word]))
        seen[word] = place
    return found


def vocabulary(words):
    table, ids = {}, []
    for word in words:
        if word not in table:
            table[word] = len(table)
        ids.append(table[word])
    return torch.tensor(ids), table


def discarded(words):
    left = {"a", "zz"}
    for word in words:
        left.discard(word)
    return sorted(left)


def summed(records):
    totals = {}
    for record in records:
        totals[record["key"]] = totals.get(record["key"], 0) + record["value"]
    return totals


def counts_of_all(texts):
    found = {}
    for text in texts:
        for word in text.split():
            found[word] = found.get(word, 0) + 1
    return sorted(found.items())


def words_of_all(texts):
    found = set()
    for text in texts:
        found.update(text.split())
    return sorted(found)


def sums_of_rows(x, labels):
    sums = {}
    for row, label in zip(x, labels, strict=True):
        sums[label] = sums.get(label, 0.0) + row.sum().item()
    return sums


def compared(one, other):
    words, others = set(one.split()), set(other.split())
    return (
        words <= others,
        words >= others,
        sorted({"a", "x"} - words),
        words.isdisjoint(other.split()),
        sorted(words.union(others, ["z"])),
        sorted(words.intersection(["a", "b"])),
        {"a"}.issubset(words),
        {"a", "b", "c"}.issuperset(one.split()),
        sorted({"a", "x"}.union(words)),
    )


def kept_elsewhere(words):
    found, lengths = {}, []
    for word in words:
        items = found.setdefault(word, [])
        found[word].append(1)
        lengths.append(len(items))
    return lengths


def _of_words(process):
    return Case(process, [["a", "b", "a"]], [[["x"]], [["q", "Q", "r", "q"]], [[]]])


def _of_texts(process):
    return Case(process, [["a b", "c a"]], [[["x"]], [["q q", "", "q"]], [[]]])


_OF_WORDS = [
    counts, counts_that_branch, counts_of_a_default, lengths_of_a_default, counted, groups, places,
    groups_that_branch, without_repeats, lowered, called_list, called_dict, known_keys, records, changed_later,
    repeats, vocabulary, discarded,
]  # fmt: skip
_RECORDS = [{"key": "a", "value": 1.5}, {"key": "b", "value": 2.0}, {"key": "a", "value": 1.0}]
CASES = {
    **{process.__name__: _of_words(process) for process in _OF_WORDS},
    **{process.__name__: _of_texts(process) for process in (counts_of_all, words_of_all)},
    "summed": Case(summed, [_RECORDS], [[_RECORDS[:1]], [_RECORDS * 2], [[]]]),
    "sums of rows": Case(
        sums_of_rows,
        [torch.ones(3, 2), ["a", "b", "a"]],
        [[torch.ones(1, 2), ["a"]], [torch.rand(5, 3), list("xyxzx")]],
    ),
    "compared": Case(compared, ["a b", "b a c"], [["x", "y"], ["x y", "y"], ["", ""], ["a b c", "a"]]),
}
