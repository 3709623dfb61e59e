"""Choices among constants and variables that data, a number or a text decides: traced once, and asked for all sides."""

from __future__ import annotations

import torch

from tests.everyday.case import Case


def chained(s):
    return "low" if s < 0.5 else "mid" if s < 0.8 else "high"


def returned(s):
    if s < 0.5:
        return 1
    elif s < 0.8:  # the form is what is tested
        return 2
    return 3


def assigned(s):
    if s < 0.5:
        level = "low"
    elif s < 0.8:
        level = "mid"
    else:
        level = "high"
    return f"{level}: {s:.2f}"


def both(s):
    return "mid" if s > 0.5 and s < 0.8 else "other"  # the form is what is tested


def either(s):
    return "edge" if s < 0.5 or s > 0.8 else "mid"


def between(s):
    return 2.0 if 0.5 < s <= 0.8 else 0.75


def inside(s):
    return ("a" if s < 0.25 else "b") if s < 0.5 else "c"


def crossed(s):
    return 1 if (s < 0.5 or s > 0.8) and not s > 0.9 else 2 if s < 0.7 else 3


def of_item(process):
    return Case(lambda x: process(x.mean().item()), *_NUMBERS)


def by_mode(x, mode):
    return x * (1.0 if mode == "x" else 2.0 if mode == "y" else 3.0)


def axis(x, mode):
    return x.sum(dim=0 if mode == "rows" else 1)


def by_number(x, n):
    scale = 2.0 if n > 3 else 0.5 if n > 1 else -1.0
    return x * scale, "big" if n > 3 else "small"


def by_size(x):
    mode = "nearest" if x.shape[-1] > 3 else "bilinear"
    return torch.nn.functional.interpolate(x, size=(2, 2), mode=mode)


def defaults(text, n):
    name = text.strip() or "none"
    both = (n > 3 and text) or "either"
    key, _, value = text.partition(",")
    return name.upper(), n or 1, both, value.strip() or key, [word.strip() or "?" for word in text.split(",")]


def joined(x):
    return ", ".join(f"{value:.1f}" for value in x.tolist() if value > 0.5) or "nothing", x.mean().item() or -1.0


LIMIT = 4


def clamped(text, low, high, n):
    if n > LIMIT:
        n = LIMIT
    elif n < 1:
        n = 1
    if low > high:
        low = high
    if not text:
        text = "none"
    longer = text if len(text) > n else "short"
    return longer, n, low if low < high else high, low if low > n or text == "x" else high


def expressed(text, low, high, n):
    short = text[:3] + "..." if len(text) > 3 else text
    if n > 3:
        label = f"{low:.1f} to {high:.1f}"
    elif n < 0:
        label = "below " + short.upper()
    else:
        label = short
    if low > high:
        low = high - low * 2
    if text == "x":
        return "none"
    return f"{label} {low + n}"


def connected(text, low, high, n):
    far = low > 2 and high > 2 and n > 2
    return far, text == "x" or len(text) > n or low == high, {"ok": n >= 3 and text != ""}, not (low > n and high > n)


def best(values, n):
    top, count = 0.0, 0
    for value in values:
        if value > top:
            top = value
        count += 1 if value > 1 and value != top else 0
    return top if top > n else -1.0, count


def of_constants(n):
    sizes = {"a": 1, "bb": 2, "ccc": 3}
    return [key for key in sizes if len(key) > n], {key: size for key, size in sizes.items() if size != n}


def linked(text, n):
    """Comparisons in a row: as values, as conditions of comprehensions and of assertions."""
    assert 0 <= len(text) <= 9
    words = text.split()
    return {
        "valid": 1 <= len(text) <= 5,
        "three": 0 < n < len(words) <= 9,
        "and": 0 < n < 9 and n != 3,
        "not": not 0 < n < 4,
        "count": (0 < n < 9) + sum(1 for word in words if "a" <= word < "c"),
        "words": [word for word in words if 1 < len(word) < 4],
        "others": {word: n for word in words if not "b" <= word[0] <= "d"},
    }


def captured(text):
    """The comprehension reads a name that a choice sets."""
    if text.startswith("00"):
        text = "+" + text[2:]
    return [text[i : i + 2] for i in range(0, len(text), 2)]


_X = torch.tensor([0.5, 0.25])
_NUMBERS = (
    [torch.tensor([0.1, 0.2])],
    [[torch.tensor([value] * 3)] for value in (0.3, 0.5, 0.6, 0.75, 0.8, 0.85, 0.95)],
)
_SIDES = [["", 3.0, 2.5, 5], ["abcdef", 2.0, 2.0, 0], ["x", -1.0, 7.0, 3], ["ab", 3.0, 4.0, 3], ["", 0.0, 9.0, -2]]
CASES = {
    "chained": of_item(chained),
    "returned": of_item(returned),
    "assigned": of_item(assigned),
    "and": of_item(both),
    "or": of_item(either),
    "between": of_item(between),
    "one inside of another": of_item(inside),
    "crossed": of_item(crossed),
    "linked": Case(linked, ["abc d", 2], [["", 0], ["abcd ef", 3], ["a b c d e", 4], ["cd", 9], ["e ab bc", 1]]),
    "linked, returned": Case(lambda n: not 0 < n < 9, [5], [[-1], [0], [1], [8], [9]]),
    "linked, in a dict": Case(lambda n: {"in": 0 < n < 9}, [5], [[-1], [0], [1], [8], [9]]),
    "a captured name": Case(captured, ["0049"], [[""], ["00"], ["49123"], ["0012345"]]),
    "a text": Case(by_mode, [_X, "x"], [[_X, mode] for mode in ("y", "z", "")]),
    "a dimension, which stays fixed": Case(axis, [torch.eye(2, 3), "rows"], [[torch.rand(4, 3), "rows"]]),
    "a number": Case(by_number, [_X, 5], [[_X, n] for n in (4, 3, 2, 1, 0)]),
    "a size": Case(by_size, [torch.rand(1, 2, 4, 4)], [[torch.rand(1, 2, 3, 3)], [torch.rand(2, 1, 5, 7)]]),
    "or a constant": Case(defaults, ["a", 5], [["b, ,c", 4], [" ", 7]]),
    "or a constant, by data": Case(joined, [torch.ones(2)], [[torch.zeros(3)], [torch.tensor([0.1, 0.7])]]),
    "variables": Case(clamped, ["x", 1.0, 2.0, 3], _SIDES),
    "expressions": Case(expressed, ["x", 1.0, 2.0, 3], _SIDES),
    "connectives": Case(connected, ["x", 1.0, 2.0, 3], _SIDES),
    "variables in a loop": Case(best, [[1.0, 3.0], 1], [[[], 0], [[2.0, 1.5, 3.0, 2.5], 2], [[-1.0], 0]]),
    "constants by a number": Case(of_constants, [1], [[0], [2], [3], [9]]),
    "items": Case(
        lambda cells: [1 if cell == "yes" else -1 if cell == "no" else 0 for cell in cells],
        [["yes", "no"]],
        [[["no", "no", "maybe"]], [[]]],
    ),
}
