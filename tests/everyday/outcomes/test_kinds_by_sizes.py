"""A choice between kinds of values by the size of an array, or by a table of ints and floats, holds for both ways."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

from tests.everyday.case import Case, check

A = np.array([1.0, 2.0])
ARRAYS = [(np.array([1.0]),), (np.array([]),), (np.array([1.0, 3.0, 7.0]),)]


def from_table(x, n):
    w = [1, 2.5, 3][n % 3]
    return x + w


def gradient(x):
    return np.gradient(x) if x.size > 1 else 0


def listed(x):
    return x * 2 if x.size > 1 else x.tolist()


def difference(x):
    if x.shape[0] < 2:
        return None
    return np.diff(x)


CASES = {
    "gradient": Case(gradient, (A,), ARRAYS),
    "listed": Case(listed, (A,), ARRAYS),
    "none": Case(difference, (A,), ARRAYS),
    "table": Case(from_table, (torch.arange(3), 2), [(torch.arange(4), 0), (torch.arange(2), 1), (torch.arange(2), 4)]),
}


@pytest.mark.parametrize("name", CASES)
def test_both_ways_hold_and_nothing_is_said(name) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(CASES[name])
