"""Loops over the rows of constant tables of pandas, with a filter that data decides."""

from __future__ import annotations

import re

import pytest

import tracepack
from tests.everyday.case import Case, check

pd = pytest.importorskip("pandas")
PRICES = pd.Series([1.0, 2.0, 3.0], index=["a", "b", "c"])
TABLE = pd.DataFrame({"least": [1, 2, 3], "name": ["x", "y", "z"]})
OTHERS = [[0.5], [2.5], [9.0]]


def first(least):
    for row in TABLE.to_dict("records"):
        if row["least"] > least:
            return row["name"]
    return "none"


@pytest.mark.parametrize(
    ("process", "example", "others"),
    [
        (lambda least: [name for name, price in PRICES.items() if price > least], [1.5], OTHERS),
        (lambda least: {name: price * least for name, price in PRICES.items()}, [1.5], OTHERS),
        (lambda least: {name: price for name, price in PRICES.items() if price > least}, [1.5], OTHERS),
        (lambda left: sum(price for name, price in PRICES.items() if name != left), ["a"], [["b"], ["q"]]),
        (lambda names: [f"{k}={v:.1f}" for k, v in PRICES.items() if k in names], [["a"]], [[["b", "c"]], [["q"]]]),
        (lambda least: [row["name"] for row in TABLE.to_dict("records") if row["least"] > least], [1.5], OTHERS),
        (first, [1.5], OTHERS),
    ],
)
def test_a_filter_goes_both_ways(process, example, others) -> None:
    check(Case(process, example, others))


def _rows(least):
    return [row["name"] for _, row in TABLE.iterrows() if row["least"] > least]


def _first(least):
    for _, row in TABLE.iterrows():
        if row["least"] > least:
            return row["name"]
    return "none"


@pytest.mark.parametrize("process", [_rows, _first])
@pytest.mark.filterwarnings("ignore:.*an argument is fixed")
def test_rows_that_are_tables_have_a_form(process) -> None:
    words = re.escape("for row in TABLE.to_dict('records') keeps both ways")
    with pytest.warns(UserWarning, match=words):
        tracepack.trace(process, 1.5)
