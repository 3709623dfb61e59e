"""Plain functions with loops over a few constants that are left by `return` of lists, dicts and tensors."""

from __future__ import annotations

import torch

from tests.everyday.case import Case


def places(x):
    shares = x.tolist()
    for least in (0.9, 0.5):
        found = [i for i, share in enumerate(shares) if share > least]
        if len(found) >= 2:
            return found
    return []


def separated(text):
    for sign in (",", ";", "|"):
        parts = text.split(sign)
        if len(parts) > 1:
            return {"sign": sign, "parts": parts}
    return {"sign": "", "parts": [text]}


def scaled(x):
    for factor in (1, 2, 4):
        y = x * factor
        if y.sum() > 6:
            return y
    return x


def without(text):
    for start in ["a", "b"]:
        if text.startswith(start):
            return text.removeprefix(start), start
    return text, ""


def going_on(text):
    """What is set in a round is known in the next one, and after the loop."""
    seen = 0
    for sign in ("x", "y"):
        seen += text.count(sign)
        if seen > 2:
            return [seen, 0]
    return [seen, len(text)]


TEXTS = [["a;b|c"], ["x|y"], ["bcd"], ["xxyyz"], ["xxx"]]
ROWS = [[torch.tensor(row)] for row in ([0.95, 0.96, 0.7], [0.1, 0.2], [0.6, 0.2, 0.8], [3.0, 4.0])]

CASES = {
    "a list": Case(places, [torch.tensor([0.95, 0.6, 0.7])], ROWS),
    "a dict": Case(separated, ["a,b"], TEXTS),
    "a tensor": Case(scaled, [torch.tensor([1.0, 1.5])], ROWS),
    "two texts": Case(without, ["abc"], TEXTS),
    "a sum": Case(going_on, ["xyz"], TEXTS),
}
