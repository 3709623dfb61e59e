"""Loops and comprehensions that branch on their items: every way is recorded, and lists may have any length."""

from __future__ import annotations

import re

import torch

from tests.everyday.case import Case


def parsed(lines):
    found = []
    for line in lines:
        if line.startswith("#") or not line.strip():
            continue
        key, _, value = line.partition("=")
        if value and value.isdigit():
            found.append((key, int(value)))
        elif value:
            found.append((key, -1))
    return found


def graded(x):
    out = []
    for value in x.tolist():
        if value > 0.5:
            if value > 0.8:
                out.append("high")
            else:
                out.append("mid")
        elif value > 0.2:
            out.append("low")
    return out


def priced(words):
    total, seen = 0, []
    for word in words:
        if word == "a":
            total += 1
        elif word == "b":
            total += 2
        elif word == "c":
            total += 3
        elif word == "d":
            total += 5
        elif word == "e":
            total += 7
        elif word == "f":
            total += 11
        elif word == "g":
            total += 13
        elif word == "h":
            total += 17
        elif word == "i":
            total += 19
        elif word == "j":
            total += 23
        elif word == "k":
            total += 29
        seen.append(total)
    return seen


def boxes(corners, scores):
    keep = []
    for box, score in zip(corners.tolist(), scores.tolist(), strict=True):
        if score < 0.3:
            continue
        x1, y1, x2, y2 = box
        if x2 <= x1 or y2 <= y1:
            continue
        keep.append({"box": [x1, y1, x2, y2], "score": round(score, 2)})
    return keep


def rows(x):
    out = []
    for row in x:
        if row.sum() > 1:
            out.append(row * 2)  # the form is what is tested
    return out


def inverted(x):
    out = []
    for value in x.tolist():
        if value == 0:
            out.append(0.0)
        else:
            out.append(1 / value)  # fails on the first item of the example
    return out


def defaulted(x):
    out = []
    for value in x.tolist():
        found = 0.0
        if value > 0.5:
            found = value * 2
        out.append(found)
    return out


def numbered(texts):
    out = []
    for i, text in enumerate(texts):
        if i == 0:
            out.append(text)
        else:
            out.append(f" {text}")
    return "".join(out)


def level(value):
    if value > 0.8:
        return "A"
    if value > 0.5:
        return "B"
    return f"C{value:.1f}"


_X = torch.tensor([0.0, 0.7, 0.9])
_NUMBERS = ([_X], [[torch.tensor([0.9])], [torch.tensor([0.1, 0.0, 0.6, 0.3, 0.8])], [torch.tensor([])]])
_TEXTS = ([["abc", "", "xyzw"]], [[["q", "a"]], [[""]], [[]]])
_CORNERS = torch.tensor([[0.0, 0, 1, 1], [2, 2, 1, 3], [0, 0, 4, 4]])


def amounts(lines):
    found = []
    for line in lines:
        text = line.strip()
        if not text:
            continue
        text = re.sub("[|]", "I", text)
        match = re.search(r"(\d{1,9})[.,](\d{2})", text)
        amount = float(f"{match.group(1)}.{match.group(2)}") if match else 0.0
        found.append({"text": text, "amount": amount})
    return found


def asked_for_nothing(texts):
    found = []
    for text in texts:
        match = re.search(r"\d{1,3}", text)
        if match:
            match.group(0)
        found.append("k")
    return found


def outliers(values, size):
    found = []
    for place in range(len(values)):
        before = values[max(0, place - size) : place]
        if len(before) < 2:
            found.append(False)
            continue
        mean = sum(before) / len(before)
        spread = sum((value - mean) ** 2 for value in before) / (len(before) - 1)
        found.append(values[place] - mean > 3 * spread if spread > 0 else False)
    return found


CASES = {
    "a way that no item takes": Case(
        outliers, [[1.0, 2, 3, 4, 5, 100], 3], [[[5.0, 5, 5], 2], [[1.0], 4], [[], 1], [[1.0, 2.0, 9.0], 5]]
    ),
    "continue": Case(parsed, [["a=1", "#x", "", "b=q"]], [[["z=9"]], [["#"]], [["k", "l=", "m=12", "n=o"]], [[]]]),
    "one if in another": Case(graded, *_NUMBERS),
    "items taken apart": Case(
        boxes, [_CORNERS, torch.tensor([0.1, 0.5, 0.9])], [[_CORNERS[:2], torch.ones(2)], [_CORNERS, torch.rand(3)]]
    ),
    "rows of a tensor": Case(
        rows, [torch.tensor([[0.1, 0.2], [0.9, 0.8]])], [[torch.rand(5, 2)], [torch.ones(1, 2)], [torch.zeros(3, 2)]]
    ),
    "a way that fails on other items": Case(inverted, *_NUMBERS),
    "a default": Case(defaulted, *_NUMBERS),
    "the first one": Case(numbered, [["a", "b"]], [[["x"]], [["p", "q", "r"]]]),
    "a choice of values": Case(lambda x: [v * 2 if v > 0.5 else v - 1 for v in x.tolist()], *_NUMBERS),
    "or, and": Case(lambda texts: [t for t in texts if (t and t[0] == "a") or len(t) > 3], *_TEXTS),
    "values of a dict": Case(lambda texts: {t: (1 if t[:1] == "a" else len(t)) for t in texts}, *_TEXTS),
    "any": Case(lambda texts: any(t == "a" or len(t) > 3 for t in texts), *_TEXTS),
    "sum": Case(lambda x: sum(v if v > 0.5 else 0.0 for v in x.tolist()), *_NUMBERS),
    "a helper": Case(lambda x: [level(v) for v in x.tolist()], *_NUMBERS),
    "map": Case(lambda x: list(map(level, x.tolist())), *_NUMBERS),
    "inner lists": Case(
        lambda texts: [[w if len(w) > 1 else "_" for w in t.split()] for t in texts],
        [["a bb", "c"]],
        [[["", "q"]], [[]]],
    ),
    "a match that one way asks, after a filter": Case(
        amounts, [["of 3,20", "", "none"]], [[["x"]], [["a 1.25 b", " ", "c 33.10", ""]], [[]]]
    ),
    "a match that is asked for nothing": Case(asked_for_nothing, [["a1", "b"]], [[["x", "22"]], [[]]]),
    "a long chain": Case(priced, [["k", "a"]], [[[]], [["j", "x", "c"]], [list("abcdefghijkl")]]),
    "a flag": Case(lambda texts, up: [t.upper() if up else t for t in texts], [["a"], True], [[["b", "c"], False]]),
    "a mode": Case(lambda texts, m: [t.upper() if m == "up" else t for t in texts], [["a"], "up"], [[["b"], "down"]]),
}


def mixed(x):
    return [value if value > 0.5 else 0 for value in x.flatten().tolist()]


def written(x):
    return [row.mul_(2) if row.sum() > 1.5 else row for row in x]


BUFFER = torch.ones(2)


def captured(x):
    found = BUFFER
    for row in x:
        found += row
    return found


def summed_beside_a_list(x):
    found, total = [], 0.0
    for row in x:
        if row.sum() > 0.5:
            total = total + row.max()
        found.append(row.mean())
    return torch.stack(found), total


REFUSED = {
    summed_beside_a_list: "begins as a float, of which it makes a tensor. Start with torch.zeros",
    mixed: "gives values of different types on different ways",
    written: "branches, and writes to a tensor",
    captured: "begins with a tensor from outside. Begin with a copy",
}
"""What no such loop can be -> the words of its refusal."""
