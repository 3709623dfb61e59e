"""Loops whose variables functions inside of them know, such as a generator over constants; and dicts over constants."""

from __future__ import annotations

import re

import torch

import tracepack
from tests.everyday.case import Case

LABELS = ["neg", "neu", "pos"]
BANNED = ["spam", "win", "casino"]
LIMITS = {"neg": 0.5, "neu": 0.2, "pos": 0.6}


def moderated(texts, scores):
    found = []
    for text, score in zip(texts, scores.tolist(), strict=True):
        hits = sum(word in text.lower() for word in BANNED)
        if score > 0.8 or hits > 1:
            action = "block"
        elif score > 0.5 or hits == 1:
            action = "review"
        else:
            action = "allow"
        found.append({"action": action, "hits": hits})
    return found


def named(texts):
    found = []
    for text in texts:
        words = [word for word in BANNED if word in text]
        if words:
            found.append(", ".join(words))
    return found


def longest(texts):
    total, best = 0, ""
    for text in texts:
        letters = sum(len(word) for word in text.split())
        total += letters
        if letters > len(best):
            best = text
    return total, best


def numbers(texts):
    found = []
    for text in texts:
        size = len(text)
        found.append(tracepack.cond(text.isdigit(), lambda: int(text), lambda: size))  # noqa: B023  # called at once
    return found


def two_loops(texts):
    found = []
    for text in texts:
        if any(word in text for word in BANNED):
            continue
        found.append(sorted(text.split(), key=lambda word: (len(word), text.find(word))))  # called at once
    for text in texts:
        found.append([letter for letter in text if letter in "aeiou"])  # noqa: PERF401  # the form is tested
    return found


def over_limits(scores):
    found = {}
    for i, label in enumerate(LABELS):
        score = scores[i].item()
        if score >= LIMITS[label]:
            found[label] = round(score, 3)
    return found


def all_labels(text):
    counts = {}
    for label in LABELS:
        if label in text:
            counts[label] = text.count(label)
        else:
            counts[label] = 0
    return counts


PATTERNS = [(re.compile(r"\b\d{3}-\d{4}\b"), "phone"), (re.compile(r"@[a-z]{1,20}\.com"), "mail")]


def judged(text, score):
    reasons = [word for word in BANNED if word in text]
    for pattern, name in PATTERNS:
        reasons = reasons + [name] * int(bool(pattern.search(text)))
    reasons = reasons + ["toxic"] * int(bool(score > 0.8))
    return {"action": "allow" if not reasons else "block" if len(reasons) > 1 else "review", "reasons": reasons}


def segments(scores, limit=0.5):
    found, start = [], -1
    for i, score in enumerate(scores):
        if score >= limit and start < 0:
            start = i
        elif score < limit and start >= 0:
            found.append({"start": start, "end": i})
            start = -1
    return found + [{"start": start, "end": len(scores)}] * (start >= 0)


ITEMS = ["book", "lamp", "pen", "cup"]


def unseen(scores, seen):
    for item in seen:
        if item in ITEMS:
            scores = scores.index_fill(0, torch.tensor([ITEMS.index(item)]), -1.0)
    return [ITEMS[i] for i in scores.topk(2).indices.tolist()]


def kept_closures(texts):
    found = []
    for text in texts:
        found.append(lambda: text)  # noqa: B023, PERF401  # the form is tested
    return [each() for each in found]


def counted_inside(texts):
    count, found = 0, []

    def add():
        nonlocal count
        count += 1

    for text in texts:
        add()
        found.append(text + str(count))
    return found


def differences(texts):
    found, last = [], ""
    for text in texts:
        found.append([letter for letter in text if letter not in last])
        last = text
    return found


def read_later(texts):
    text = ""
    for text in texts:
        any(word in text for word in BANNED)
    return text


FIXED = [kept_closures, counted_inside]
"""Loops that hand on what a function inside knows: the example's rounds."""
_TEXTS = ([["spam a", "hi", "win spam"]], [[["x"]], [["casino", "win spam", "q", "spam a"]], [[]]])
CASES = {
    "moderated": Case(
        moderated,
        [["spam", "hi", "win spam", "x"], torch.tensor([0.1, 0.9, 0.2, 0.3])],
        [[["x"], torch.tensor([0.7])], [["casino", "win spam", "q"], torch.tensor([0.1, 0.2, 0.3])]],
    ),
    "named": Case(named, *_TEXTS),
    "longest": Case(longest, *_TEXTS),
    "numbers": Case(numbers, [["12", "hi"]], [[["x"]], [["7", "", "abc"]]]),
    "two loops": Case(two_loops, [["spam a", "b ccc aa"]], [[["x y"]], [["zz yyy x", "casino"]]]),
    "over limits": Case(
        over_limits, [torch.tensor([0.1, 0.9, 0.7])], [[torch.rand(3)], [torch.zeros(3)], [torch.ones(3)]]
    ),
    "judged": Case(
        judged, ["win 555-1234", 0.9], [["x@y.com", 0.1], ["", 0.9], ["", 0.1], ["spam 555-1234 x@y.com casino", 0.3]]
    ),
    "segments": Case(
        segments, [[0.1, 0.9, 0.9, 0.1, 0.8]], [[[0.9, 0.1]], [[0.1, 0.2]], [[0.9]], [[0.9, 0.1, 0.9, 0.1]]]
    ),
    "unseen": Case(
        unseen, [torch.rand(4), ["book", "x"]], [[torch.rand(4), ["pen"]], [torch.rand(4), []], [torch.rand(4), ITEMS]]
    ),
    "differences": Case(differences, *_TEXTS),
    "read later": Case(read_later, *_TEXTS),
    "all labels": Case(all_labels, ["neg pos"], [["x"], ["neu neu"]]),
}
