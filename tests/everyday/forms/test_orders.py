"""`groupby`, `bisect`, `heapq.nlargest` and `nsmallest` over lists of any length."""

from __future__ import annotations

import bisect
import heapq
import itertools
import warnings
from bisect import bisect_left
from heapq import nsmallest
from itertools import groupby

import numpy as np
import pytest
import torch

import tracepack
from tests.everyday.case import Case, check

WORDS = ([["b", "a", "b", "cc", "cc"]], [[["x"]], [[]], [["q", "w", "yyy", "yyy", "yyy", "q"]]])
TEXTS = (["aaabbc"], [["a"], [""], ["zzzzzzzzzzzza"], ["ab1 2ba"]])
NUMBERS = ([[0.3, 0.95, 0.7]], [[[0.6]], [[0.5, 0.9, 0.90001]], [[-1.0, float("nan"), 5.0]], [[]], [[2.0, 1.0, 2.0]]])
SALES = [{"day": "mon", "n": 1}, {"day": "tue", "n": 2}, {"day": "mon", "n": 3}]
EDGES = [0.6, 0.7, 0.8, 0.9]


def run_lengths(text):
    out = []
    for letter, run in itertools.groupby(text):
        out.append(f"{letter}{len(list(run))}")  # the form is tested
    return "".join(out)


def totals(sales):
    found = {}
    for day, group in groupby(sorted(sales, key=lambda sale: sale["day"]), key=lambda sale: sale["day"]):
        found[day] = sum(sale["n"] for sale in group)
    return found


CASES = {
    "lengths of runs": Case(run_lengths, *TEXTS),
    "counted runs": Case(lambda text: [(key, sum(1 for _ in run)) for key, run in groupby(text)], *TEXTS),
    "letters and others": Case(lambda text: ["".join(run) for _, run in groupby(text, key=str.isalpha)], *TEXTS),
    "runs by a condition": Case(lambda text: [key for key, _ in groupby(text, lambda c: c in "ab")], *TEXTS),
    "grouped by length": Case(
        lambda words: {key: list(run) for key, run in groupby(sorted(words, key=len), key=len)}, *WORDS
    ),
    "the longest run": Case(lambda words: max((len(list(run)) for _, run in groupby(words)), default=0), *WORDS),
    "records": Case(totals, [SALES], [[SALES[:1]], [[]], [[*SALES, *SALES, {"day": "sun", "n": 5}]]]),
    "runs of numbers": Case(lambda v: [(key, list(run)) for key, run in groupby(v, lambda x: x > 0.5)], *NUMBERS),
    "runs of a tensor": Case(
        lambda x: [(key, len(list(run))) for key, run in groupby(x.tolist())],
        [torch.tensor([1, 1, 2])], [[torch.tensor([1, 3, 3, 3])], [torch.tensor([7])]],
    ),
    "grades": Case(lambda v: ["FDCBA"[bisect.bisect(EDGES, x)] for x in v], *NUMBERS),
    "places": Case(lambda v: [(bisect_left(EDGES, x), bisect.bisect_right((0.6, 0.9), x)) for x in v], *NUMBERS),
    "a grade": Case(
        lambda x: "FDCBA"[bisect.bisect(EDGES, x.item())],
        [torch.tensor(0.65)], [[torch.tensor(x)] for x in (0.0, 0.75, 0.9, 3.0, float("nan"))],
    ),
    "a place among texts": Case(lambda text: bisect.bisect(["b", "m"], text), ["c"], [["a"], ["b"], ["z"]]),
    "largest": Case(lambda v: heapq.nlargest(2, v), *NUMBERS),
    "nearest": Case(lambda v: nsmallest(2, v, key=lambda x: abs(x - 0.5)), *NUMBERS),
    "largest of some": Case(lambda v: heapq.nlargest(2, (x * 2 for x in v if x < 0.9)), *NUMBERS),
    "their places": Case(lambda v: [i for _, i in heapq.nlargest(2, [(x, i) for i, x in enumerate(v)])], *NUMBERS),
    "longest words": Case(lambda words: heapq.nlargest(3, words, key=len), *WORDS),
    "as many as asked": Case(
        lambda v, n: heapq.nlargest(n, v), [[0.3, 0.9, 0.7], 2], [[[0.3], 2], [[1.0, 2.0], 0], [[1.0, 2.0], -1]]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_goes_by_order_takes_lists_of_any_length(name) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing of it is fixed
        check(CASES[name])


@pytest.mark.usefixtures("no_blocks")
def test_a_group_that_is_asked_for_too_late_holds_for_the_length_of_the_example() -> None:
    def late(words):
        return [list(run) for _, run in list(groupby(words))]  # which Python has emptied by then

    with pytest.warns(UserWarning, match="the length is fixed to 3"):
        mod = tracepack.trace(late, ["a", "a", "b"])
    assert mod(["a", "a", "b"]) == late(["a", "a", "b"]) == [[], []]


def test_a_search_in_what_is_in_no_order_goes_the_way_that_python_goes() -> None:
    mod = tracepack.trace(lambda x: bisect.bisect([0.9, 0.1, 0.5], x), 0.3)
    for x in (0.05, 0.3, 0.7, 2.0):
        assert mod(x) == bisect.bisect([0.9, 0.1, 0.5], x)


@pytest.mark.parametrize(
    ("process", "kinds", "form"),
    [
        (lambda x: max(x.std(), 1e-9), "numpy.float32 and float", r"max\(float\(x\), y\)"),
        (lambda x: min(x.argmax(), 1), "numpy.int64 and int", r"min\(int\(x\), y\)"),
    ],
)
def test_the_larger_of_a_number_of_numpy_and_a_plain_one_is_refused_with_a_form(process, kinds, form) -> None:
    with pytest.raises(
        tracepack.RecordError, match=f"of {kinds}: data decides which .* Write numbers of one type: {form}"
    ):
        tracepack.trace(process, np.float32([1.0, 3.0]))
    assert tracepack.trace(lambda x: max(float(x.std()), 1e-9), np.float32([1.0, 3.0]))(np.float32([2.0, 2.0])) == 1e-9
