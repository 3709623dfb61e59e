"""Lists of ints and floats have any length; what other lists of unlike items fix is said."""

from __future__ import annotations

import math
import re

import pytest

import tracepack
from tests.everyday.case import Case, check


def mean(values):
    return sum(values) / len(values)


def shown(values):
    return [f"{value}" for value in values]


def doubled(records):
    return [record["price"] * 2 for record in records], max(record["price"] for record in records)


def products(pairs):
    return [weight * count for weight, count in pairs]


def widest(rows):
    return [max(row) for row in rows]


CASES = {
    "numbers": Case(mean, [[3.0, 4, 5]], [[[1, 2.5]], [[2, 4]], [[1.5] * 7]]),
    "numbers shown": Case(shown, [[1.0, 2, 3]], [[[1, 2.0]], [[]], [[0.5, 3]]]),
    "records": Case(
        doubled, [[{"price": 1.5, "n": 1}, {"price": 2, "n": 2}]], [[[{"price": 1, "n": 1}, {"price": 0.5, "n": 3}]]]
    ),
    "pairs": Case(products, [[(1.5, 1), (2, 2)]], [[[(0.5, 3)]], [[(1, 1), (2.5, 2), (3, 3)]], [[]]]),
    "rows": Case(widest, [[[1.0, 2], [3, 4]]], [[[[1.5]]], [[[2, 1.5], [7.0, 8.5], [1, 2.5]]]]),
}


@pytest.mark.parametrize("name", CASES)
def test_ints_among_floats_keep_the_length_free(name) -> None:
    check(CASES[name])


def test_an_int_that_no_float_holds_keeps_its_value() -> None:
    big = 2**53 + 1
    with pytest.warns(UserWarning, match="the length of 'values' is fixed to 2, because its items are float and int"):
        mod = tracepack.trace(shown, [1.5, big])
    assert mod([1.5, big]) == ["1.5", str(big)]


@pytest.mark.parametrize(
    ("items", "why"),
    [
        ([1.5, None], "its items are float and None"),
        (["a", 2], "its items are str and int"),
        ([{"x": 1.5}, {"x": None}], "the field 'x' of its records is float and None"),
        ([{"x": 1}, {"y": 1}], "its records have different keys: ['x'] and ['y']"),
    ],
)
def test_other_items_fix_the_length_and_that_is_said(items, why) -> None:
    said = f"the length of 'items' is fixed to 2, because {why}. A list of any length takes items of one kind"
    with pytest.warns(UserWarning, match=re.escape(said)):
        mod = tracepack.trace(lambda items: [item for item in items], items)  # noqa: C416  # the form is tested
    assert mod(items) == items
    with pytest.raises(tracepack.SignatureError):
        mod([*items, items[0]])


def test_what_is_missing_may_be_a_nan() -> None:
    def filled(records):
        return [record["x"] if not math.isnan(record["x"]) else 42.0 for record in records]

    check(Case(filled, [[{"x": 1.5}, {"x": math.nan}]], [[[{"x": math.nan}]], [[{"x": 2.5}] * 3], [[]]]))
