"""Loops that fill dicts of dicts, of sets, of lists and of counters, in one step or by a second name."""

from __future__ import annotations

from collections import Counter, defaultdict

import torch

from tests.everyday.case import Case

WORDS = [["a", "bb", "bc"]]
MORE = [[["a", "bb", "cc", "d"]], [["q"]], [["xx", "y", "zzz", "yy", "y"]], [[]]]


def by_letter(words):
    table = {}
    for word in words:
        table.setdefault(word[0], {})[word] = len(word)
    return table


def default_dicts(words):
    table = defaultdict(dict)
    for word in words:
        table[word[0]][word] = len(word)
    return dict(table)


def default_sets(words):
    table = defaultdict(set)
    for word in words:
        table[word[0]].add(len(word))
    return {key: sorted(lengths) for key, lengths in table.items()}


def sets_made_in_rounds(words):
    table = {}
    for word in words:
        if word[0] not in table:
            table[word[0]] = set()
        table[word[0]].add(word[-1])
    return {key: len(letters) for key, letters in table.items()}


def pairs_counted(words):
    table = defaultdict(lambda: defaultdict(int))
    for word in words:
        table[word[0]][word[-1]] += 1
    return {key: dict(counts) for key, counts in table.items()}


def counters(words):
    table = defaultdict(Counter)
    for word in words:
        table[word[0]][word[-1]] += 1
    return {key: dict(counts) for key, counts in table.items()}


def lists_of_pairs(words):
    table = defaultdict(lambda: defaultdict(list))
    for word in words:
        table[word[0]][word[-1]].append(word)
    return {key: dict(lists) for key, lists in table.items()}


def inner_named(words):
    table = {}
    for word in words:
        inner = table.setdefault(word[0], {})
        inner[word[-1]] = inner.get(word[-1], 0) + 1
    return table


def list_named(words):
    table = defaultdict(list)
    for word in words:
        group = table[word[0]]
        if word not in group:
            group.append(word)
    return dict(table)


def begun_entries(words):
    table = {}
    for word in words:
        if word[0] not in table:
            table[word[0]] = {}
        if word not in table[word[0]]:
            table[word[0]][word] = 0
        table[word[0]][word] += 1
    return table


def begun_or_counted(words):
    table = {}
    for word in words:
        if word[0] not in table:
            table[word[0]] = {}
        inner = table[word[0]]
        if word in inner:
            inner[word] += 1
        else:
            inner[word] = 1
    return table


def means(words):
    table = {}
    for word in words:
        found = table.setdefault(word[0], {"count": 0, "total": 0})
        found["count"] += 1
        found["total"] += len(word)
    return {key: found["total"] / found["count"] for key, found in table.items()}


def chosen_key(words):
    table = {"short": [], "long": []}
    for word in words:
        table["short" if len(word) < 2 else "long"].append(word)
    return table


def answer(rows):
    found = {"count": len(rows), "names": [], "bad": [], "best": "", "total": 0.0}
    for row in rows:
        if row["value"] > 0:
            found["names"].append(row["name"])
            found["best"] = row["name"]
        else:
            found["bad"].append({"name": row["name"], "x": torch.ones(2) * row["value"]})
        found["total"] += row["value"]
    found["names"].append("end")
    found["mean"] = found["total"] / len(rows)
    return found


def rows_of(count):
    return [{"name": f"n{i}", "value": float(i) - 1} for i in range(count)]


def shared(rows):
    names = []
    found = {"names": names, "same": names}
    for row in rows:
        found["names"].append(row["name"])
    return found


def kept(words):
    table, last = defaultdict(list), []
    for word in words:
        group = table[word[0]]
        group.append(word)
        last = group
    return dict(table), last


FIXED = {shared: (rows_of(3), rows_of(2)), kept: (["a", "b", "a"], ["a", "b"])}
"""Lists of a dict that are kept elsewhere, too: as many rounds as the example has."""
CASES = {
    process.__name__: Case(process, WORDS, MORE)
    for process in (
        by_letter, default_dicts, default_sets, sets_made_in_rounds, pairs_counted, counters, lists_of_pairs,
        inner_named, list_named, begun_entries, begun_or_counted, means, chosen_key,
    )
}  # fmt: skip
CASES["answer"] = Case(answer, [rows_of(4)], [[rows_of(count)] for count in (1, 2, 6)])
