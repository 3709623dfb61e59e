"""Choices whose sides may fail where they are not chosen: they are run in the file where they are chosen only."""

from __future__ import annotations

import torch

from tests.everyday.case import Case

TABLE = {"a": 1, "b": 2, "c": 3}
WORDS, OTHER_WORDS = [["1", "2"]], [[["5"]], [["", "x"]], [["x", "7", "8"]], [[""]]]
TEXTS, OTHER_TEXTS = ["abc"], [[""], ["x"], ["7"]]


def numbers(words):
    return [int(word) for word in words if word.isdigit()]


def looked_up(column):
    found = [TABLE[cell] for cell in column if cell]
    return sum(found) / len(found) if found else 0.0


def returned(words):
    found = numbers(words)
    if found:
        return sum(found) / len(found)
    return 0.0


def returned_early(words):
    found = numbers(words)
    if not found:
        return {"mean": 0.0, "name": "none"}
    mean = sum(found) / len(found)
    name = f"{mean:.1f} of {max(found)}"
    return {"mean": mean * 2, "name": name}


def set_by_both(words):
    found = numbers(words)
    if len(found) > 1:  # noqa: SIM108 - the form is tested
        spread = sum((n - found[0]) ** 2 for n in found) / (len(found) - 1)
    else:
        spread = 0.0
    return {"spread": spread, "n": len(found)}


def set_by_one(words):
    found, first = numbers(words), -1
    if found:
        first = found[0]
    return first + 1


def several(words):
    found = numbers(words)
    return {"mean": sum(found) / len(found) if found else 0.0, "most": max(found) if found else -1, "n": len(found)}


def chained(words):
    found = numbers(words)
    if len(found) > 1:
        return f"{found[0]} to {found[-1]}"
    elif found:
        return str(found[0])
    return "none"


def with_and(words):
    found = numbers(words)
    return found[1] / found[0] if len(found) > 1 and found[0] != 0 else 0.0


def after_each_other(words):
    found = numbers(words)
    first = found[0] if found else 0
    return words[first] if first < len(words) else "beyond"


def longest(words):
    kept = [word for word in words if word]
    best = max(kept, key=len) if kept else "none"
    return best.upper()


def mean_of(numbers):
    return sum(numbers) / len(numbers) if numbers else 0.0


def by_helper(words):
    return round(mean_of(numbers(words)), 2)


def middle(numbers):
    return numbers[len(numbers) // 2] if numbers else -1


def by_nested_helpers(words):
    found = numbers(words)
    return middle(found) * 2 if len(found) > 1 else middle(found)


def masked(x):
    kept = x[x > 0]
    return float(kept.mean()) if len(kept) else 0.0


def swapped(n, k):
    if n > 3:
        n = n // k
        return n
    return n * 2


CASES = {
    "set by one side and read by another": Case(swapped, [7, 2], [[9, 2], [2, 5], [3, 1]]),
    "a condition that may fail": Case(with_and, [["1", "2"]], [[["5"]], [["", "x"]], [["0", "3"]], [["4", "2", "1"]]]),
    "looked up": Case(looked_up, [["a", "b", "", "c"]], [[["a"]], [[""]], [["", "b"]]]),
    "returned": Case(returned, WORDS, OTHER_WORDS),
    "returned early": Case(returned_early, WORDS, OTHER_WORDS),
    "set by both": Case(set_by_both, WORDS, OTHER_WORDS),
    "set by one": Case(set_by_one, WORDS, OTHER_WORDS),
    "several": Case(several, WORDS, OTHER_WORDS),
    "chained": Case(chained, WORDS, OTHER_WORDS),
    "after each other": Case(after_each_other, [["1", "2"]], [[["9"]], [["x"]], [["0"]], [["2", "a", "b"]]]),
    "longest": Case(longest, [["b", "aa"]], [[[""]], [["x", "", "yyy"]]]),
    "by a helper": Case(by_helper, WORDS, OTHER_WORDS),
    "a choice in a choice": Case(by_nested_helpers, WORDS, OTHER_WORDS),
    "first letter": Case(lambda text: text[0] if text else "-", TEXTS, OTHER_TEXTS),
    "a number of a text": Case(lambda text: int(text) if text.isdigit() else -1, ["3"], OTHER_TEXTS),
    "masked": Case(masked, [torch.tensor([1.0, 2.0])], [[torch.tensor([-1.0])], [torch.tensor([3.0, -1.0, 4.0])]]),
    "a tuple": Case(lambda xs: (xs[0], xs[-1]) if xs else (0.0, 1.0), [[1.0, 2.0]], [[[]], [[5.0]]]),
}
