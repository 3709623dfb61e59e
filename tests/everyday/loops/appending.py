"""Plain loops that append to a new list: of any length where they do what a comprehension does."""

from __future__ import annotations

import torch

from tests.everyday.case import Case

LABELS = ["cat", "dog", "fox", "owl"]


def texts(items):
    out = []
    for item in items:
        word = item.strip()
        out.append(word.upper())
    return out


def rows(logits):
    names = []
    for row in logits.softmax(-1):
        best = row.argmax().item()
        names.append(f"{LABELS[best]}: {row[best].item():.2f}")
    return names, len(names)


def records(logits):
    found = []
    scores, ids = logits.softmax(-1).max(-1)
    for score, i in zip(scores.tolist(), ids.tolist(), strict=True):
        found.append({"label": LABELS[i], "score": round(score, 3)})
    return found


def tensors(x):
    out = []
    for row in x:
        out.append(row * 2)
    return torch.stack(out)


def two(items):
    out = []
    for item in items:
        out.append(item.strip())
    sizes = []
    for item in out:
        sizes.append(len(item))
    return out, sizes


def counted(x):
    seen = []
    out = []
    for row in x:
        seen.append(1)
        out.append(row)
    return torch.stack(out), len(seen)


def sorted_rows(x):
    """The sort of a tensor gives another one; that of a list would change it."""
    out, least = [], 0.0
    for row in x:
        values, places = row.sort(descending=True)
        least = least + row.sort().values[0].item()
        out.append(
            {"margin": (values[0] - values[1]).item(), "best": places[0].item(), "first": row.sort()[0], "row": row}
        )
    return out, least


def or_another_dict(x):
    out = []
    for row in x.tolist():
        found = {f"item {i}": value for i, value in enumerate(row) if value > 0.9}
        out.append(dict([*found.items()] + [("none", 0.0)] * int(not found)))
    return out


def reckoned(prices):
    lines, total = [], 0.0
    for price in prices:
        doubled = price * 2
        lines.append(doubled)
        total += doubled
    return lines, total


def marked(words):
    out, count = [], 0
    for word in words:
        loud = word + "!"
        out.append(loud)
        count += 1
    return out, count


def two_lists(prices):
    first, second = [], []
    for price in prices:
        doubled = price * 2
        first.append(doubled)
        second.append(doubled + 1)
    return first, second


def reasons(text):
    found = []
    if "spam" in text:
        found.append("spam")
    return found


PRICES = ([[1.0, 2.0]], [[[3.0]], [[1.0, 2.0, 5.0]], [[]]])
CASES = {
    "what an operator makes": Case(reckoned, *PRICES),
    "what an operator makes of texts": Case(marked, [["a", "b"]], [[["x"]], [[]], [["q", "r", "s"]]]),
    "two lists of what an operator makes": Case(two_lists, *PRICES),
    "lists in records": Case(
        lambda texts: [{"reasons": reasons(text), "both": (text, reasons(text))} for text in texts],
        [["spam a", "b"]],
        [[["x"]], [[]], [["b", "spam", "c spam"]]],
    ),
    "texts": Case(texts, [["a ", "b"]], [[["x"]], [["x", " y", "z "]], [[]]]),
    "rows": Case(rows, [torch.rand(3, 4)], [[torch.rand(5, 4)], [torch.rand(1, 4)]]),
    "records": Case(records, [torch.rand(3, 4)], [[torch.rand(5, 4)], [torch.rand(1, 4)]]),
    "tensors": Case(tensors, [torch.rand(3, 4)], [[torch.rand(5, 4)], [torch.rand(2, 4)]]),
    "sorted rows": Case(sorted_rows, [torch.rand(3, 4)], [[torch.rand(5, 4)], [torch.rand(1, 2)]]),
    "or another dict": Case(
        or_another_dict, [torch.tensor([[0.95, 0.1], [0.2, 0.97]])], [[torch.rand(5, 9)], [torch.zeros(2, 4)]]
    ),
    "two lists": Case(counted, [torch.rand(3, 4)], [[torch.rand(5, 4)]]),
    "two loops": Case(two, [["a ", "b"]], [[["x"]], [["x", " y", "z "]]]),
}


def known_twice(x):
    out = []
    other = out
    for row in x:
        out.append(row)
    return other


def last(x):
    out = []
    for row in x:
        out.append(row)
    return out, row


FIXED = [known_twice, last]
"""Loops that do more: as many rounds as the example has, or an error."""
