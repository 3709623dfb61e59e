"""What a side computes of an array from before the choice fails only where Python runs that side."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.everyday.case import Case, check

REDUCTIONS = {"sum": np.sum, "max": np.max}


def first(x):
    a = x.numpy()
    return a[0] if len(a) else np.float32(0)


def largest(x):
    a = x.numpy()
    return a.max() if a.size else np.float32(-1)


def reduced(x, how):
    a = x.numpy()
    return REDUCTIONS[how](a)


def written_later(x, how):
    a = x.numpy().copy()
    b = a[1:] if how == "max" else a[:1]
    a[:] = 5
    return a, b


X, NONE = torch.tensor([2.0, 7.0, 1.0]), torch.zeros(0)
CASES = {
    "an item": Case(first, [X], [[NONE], [X[1:]], [-X]]),
    "a method": Case(largest, [X], [[NONE], [X[2:]], [-X]]),
    "a table": Case(reduced, [X, "sum"], [[NONE, "sum"], [X, "max"], [-X[:2], "max"]]),
    "views": Case(written_later, [X, "sum"], [[NONE, "max"], [X, "max"], [X[:2], "sum"]]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_side_with_an_array(name) -> None:
    check(CASES[name])
