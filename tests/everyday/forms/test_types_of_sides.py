"""Choices between an int and a float: said with the form of one type, which goes both ways."""

from __future__ import annotations

import warnings

import pytest
import torch

import tracepack
from tests.everyday.case import Case, check

SHARES = ([3.0, 2], [[1.0, 0], [2.0, 3]])
SPREADS = ([[3.0, 1.0, 2.0]], [[[1.0]], [[2.0, 2.0]]])


def one_on_zero(values):
    spread = max(values) - min(values)
    if spread == 0:
        spread = 1
    return spread / 2


MIXED = {
    "of two sides": (lambda total, n: total / n if n else 0, SHARES[0]),
    "or": (lambda values: [x / ((max(values) - min(values)) or 1) for x in values], SPREADS[0]),
    "a variable": (one_on_zero, SPREADS[0]),
}


@pytest.mark.parametrize("name", MIXED)
def test_an_int_beside_a_float_is_said(name) -> None:
    process, example = MIXED[name]
    words = r"taken on it\. One side gives an int and one a float: with one type on all, as 1\.0 for 1, it goes both"
    with pytest.warns(UserWarning, match=words):
        tracepack.trace(process, *example)


def test_an_int_beside_a_float_is_refused_where_data_decides() -> None:
    with pytest.raises(tracepack.RecordError, match="a branch was taken on it.* One side gives an int and one a float"):
        tracepack.trace(lambda x: 1 if x.max().item() > 2 else x.sum().item() / 2, torch.ones(3))


@pytest.mark.parametrize(
    "case",
    [
        Case(lambda total, n: total / n if n else 0.0, *SHARES),
        Case(lambda values: [x / ((max(values) - min(values)) or 1.0) for x in values], *SPREADS),
    ],
    ids=["of two sides", "or"],
)
def test_one_type_on_both_sides_goes_both_ways(case) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(case)


def test_cond_says_it_too() -> None:
    with pytest.raises(tracepack.RecordError, match=r"got int .* expected float .* Give one type on both sides: 1\.0"):
        tracepack.trace(lambda x, n: tracepack.cond(n > 0, lambda: x / n, lambda: 0), 3.0, 2)
