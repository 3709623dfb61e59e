"""`Counter`, `set` and `dict.fromkeys` of a few labels, each decided by itself."""

from __future__ import annotations

import warnings
from collections import Counter

import pytest
import torch

from tests.everyday.case import Case, check

LABELS = ["neg", "neu", "pos"]
FIRST, SECOND, THIRD = torch.eye(3)


def majority(a, b, c):
    votes = [LABELS[int(x.argmax())] for x in (a, b, c)]
    label, count = Counter(votes).most_common(1)[0]
    how = "majority"
    if count == 1:
        label, how = LABELS[int((a + 2 * b + c).argmax())], "mean"
    return label, count, how


def distinct(a, b):
    pair, more = [a, b], [a, b, 7]
    return len(set(pair)), sorted(set(more))


CASES = {
    "votes": Case(majority, [FIRST, THIRD, THIRD], [[FIRST, SECOND, THIRD], [SECOND] * 3, [THIRD, FIRST, FIRST]]),
    "a Counter": Case(lambda a, b: dict(Counter([a.strip(), b.strip()])), ["a", "b "], [["a", " a"], ["", "é"]]),
    "a set": Case(distinct, [3, 2], [[2, 2], [7, 7], [9, -1]]),
    "keys": Case(lambda a, b: list(dict.fromkeys([a, b, "z"])), ["b", "a"], [["z", "z"], ["a", "a"], ["", "b"]]),
}


@pytest.mark.parametrize("name", CASES)
def test_labels_that_are_counted(name) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(CASES[name])
