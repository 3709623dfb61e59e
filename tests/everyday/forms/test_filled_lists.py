"""Loops that put items into lists of fixed places: counts, tables, sorts; and names that share such a list."""

from __future__ import annotations

import warnings

import pytest
import torch

import tracepack
from tests.everyday.case import Case, check, loaded

VOCABULARY = {"free": 0, "win": 1}
PLACES = ([[3, 1, 2, 3]], [[[1]], [[2, 2]], [[0, 4, 4, 1, 1]], [[]]])
NUMBERS = ([[3.0, 1.0, 2.0]], [[[1.0]], [[2.0, 2.0]], [[0.5, -4.0, 4.0, 1.0]], [[]]])


def bag_of_words(text):
    counts = [0.0] * len(VOCABULARY)
    for word in text.lower().split():
        if word in VOCABULARY:
            counts[VOCABULARY[word]] += 1
    return torch.tensor(counts)


def histogram(places):
    bins = [0] * 5
    for place in places:
        bins[min(place, 4)] += 1
    return bins, sum(bins), bins[-1]


def confusion(wanted, got):
    table = [[0] * 3 for _ in range(3)]
    for one, other in zip(wanted, got, strict=True):
        table[one][other] += 1
    return table, sum(table[i][i] for i in range(3)) / max(len(wanted), 1)


def drawn(places):
    rows = [["."] * 5 for _ in range(2)]
    for place in places:
        row = rows[place % 2]
        row[place] = "X"
    return ["".join(row) for row in rows]


def smoothed(values):
    out = values.copy()
    for i in range(1, len(values)):
        out[i] = 0.5 * out[i - 1] + 0.5 * values[i]
    return out


def in_order(values):
    out = list(values)
    for _ in range(len(out)):
        for j in range(len(out) - 1):
            if out[j] > out[j + 1]:
                out[j], out[j + 1] = out[j + 1], out[j]
    return out


def running_totals(values):
    totals = [0.0] * (len(values) + 1)
    for i, value in enumerate(values):
        totals[i + 1] = totals[i] + value
    return totals


def branching(places):
    counts = [0, 10, 20, 30, 40]
    for i, place in enumerate(places):
        if place > 2:
            counts[place] += i
        elif place == 1:
            counts[-1] = i
    counts.append(7)
    return counts


def remembered(places):
    counts, seen = [0] * 5, []
    for place in places:
        counts[place] += 1
        seen.append(list(counts))
    return seen


CASES = {
    "bag of words": Case(bag_of_words, ["win free now"], [[""], ["x"], ["win win free"]]),
    "histogram": Case(histogram, *PLACES),
    "confusion": Case(confusion, [[0, 1, 2], [0, 2, 2]], [[[], []], [[1], [1]], [[2, 2, 2, 2], [0, 1, 2, 0]]]),
    "drawn": Case(drawn, *PLACES),
    "smoothed": Case(smoothed, *NUMBERS),
    "in order": Case(in_order, *NUMBERS),
    "running totals": Case(running_totals, *NUMBERS),
    "branching": Case(branching, *PLACES),
    "remembered": Case(remembered, *PLACES),
}


@pytest.mark.parametrize("name", CASES)
def test_a_list_that_a_loop_puts_items_into(name) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing of it is fixed
        check(CASES[name])


def rows_that_are_one(places):
    rows = [[0] * 5] * 3
    for place in places:
        rows[1][place] += 1
    return rows


def a_row_with_a_name(places):
    row = [0] * 5
    rows = [row, [0] * 5]
    for place in places:
        rows[0][place] += 1
    return rows, row


def a_second_name(places):
    counts = [0] * 5
    same = counts
    for place in places:
        counts[place] += 1
    return counts, same


def kept_each_time(places):
    counts, seen = [0] * 5, []
    for place in places:
        counts[place] += 1
        seen.append(counts)
    return seen


def a_row_put_twice(places):
    rows, row = [[0] * 2 for _ in range(5)], [5, 5]
    for place in places:
        rows[place] = row
        rows[place][0] += 10
    return rows, row


@pytest.mark.parametrize(
    "process", [rows_that_are_one, a_row_with_a_name, a_second_name, kept_each_time, a_row_put_twice]
)
@pytest.mark.usefixtures("no_blocks")
def test_a_list_with_two_names_keeps_the_length_of_the_example(process) -> None:
    with pytest.warns(UserWarning, match="the length is fixed to 4|an item of a list .* cannot be changed") as said:
        mod = loaded(process, *PLACES[0])
    assert any("the length is fixed to 4" in str(each.message) for each in said)
    assert mod(*PLACES[0]) == process(*PLACES[0])
    with pytest.raises(tracepack.SignatureError):
        mod([1])


def marked(places):
    marks = ["-"] * 5
    for place in places:
        marks[place] = "#"
    return "".join(marks)


@pytest.mark.parametrize(
    ("process", "words"),
    [
        (histogram, r"bins\[min\(place, 4\)\] \+= 1.*list index out of range.*, -7"),
        (marked, r'marks\[place\] = "#".*the table has no such entry; got -7; expected an index from -5 to 4'),
    ],
)
def test_a_place_that_the_list_lacks_is_an_error_with_the_line(process, words) -> None:
    with pytest.raises(tracepack.TracepackError, match=words):
        loaded(process, *PLACES[0])([1, -7])
