"""An error that the function catches: its code is a block, or the trace says that a run ends there."""

from __future__ import annotations

import re
import warnings

import pytest
import torch

import tracepack
from tests.everyday.case import Case, check
from tests.everyday.caught import functions

X = torch.tensor([0.2, 0.9])
CASES = {
    "a number by a helper": Case(functions.number_of_helper, ["3", X], [["z", X], ["", X[:1]], ["-1_0", X]]),
    "an entry by a helper": Case(functions.entry_of_helper, ["a", X], [["b", X], ["c", X]]),
    "quotient": Case(functions.quotient, [X, 1, 2], [[X, 1, 0], [X, 0, 3]]),
    "year": Case(functions.year, ["2024-01-31", X], [["2024-02-31", X], ["x", X]]),
    "root": Case(functions.root, [4.0, X], [[-1.0, X], [2.0, X]]),
    "largest": Case(functions.largest, [[1, 2], X], [[[], X], [[5], X]]),
    "first large": Case(functions.first_large, [[1, 2], X], [[[], X], [[1, 0], X], [[3, 2], X]]),
    "pair": Case(functions.pair, ["a:bc", X], [["a", X], ["a:b:c", X], ["", X]]),
    "decimal": Case(functions.doubled, ["12"], [[""], ["4.5"], ["1e3"], ["x"]]),
    "errors of one's own": Case(functions.parsed, [["1", "", "x"]], [[[]], [["q"]], [["", "7"]]]),
    "errors of a generator": Case(functions.summed, [["1", "2"]], [[[]], [["q"]], [["", "7"]]]),
}


@pytest.mark.parametrize("name", CASES)
def test_what_catches_an_error_answers_as_in_python(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(CASES[name])


ENDS = "a recording holds no `except`, and the run ends there. Test for it before, and choose with tracepack.cond"
TOLD = {
    "falls_back": ([X, 0.5], [X / 9, 0.5], f"raises UnsureError then, which it catches itself: {ENDS}"),
    "falls_back_by_assertion": ([X], [X * 9], f"an assertion of the function fails, which it catches itself: {ENDS}"),
    "falls_back_by_text": (["a", X], ["z", X], "a condition on a text is fixed to False, because a branch was taken"),
}


@pytest.mark.parametrize("name", TOLD)
def test_an_error_of_a_helper_that_tensors_decide_is_told_at_the_trace(name, no_blocks):
    process, (example, other, told) = getattr(functions, name), TOLD[name]
    with pytest.warns(UserWarning, match=re.escape(told)):
        mod = tracepack.trace(process, *example)
    with pytest.raises(tracepack.GuardError):
        mod(*other)


@pytest.mark.parametrize(
    ("process", "given"), [(functions.raises_through, [X]), (functions.halved, [X, 3])], ids=["other kind", "constant"]
)
def test_nothing_is_told_of_errors_that_are_not_caught_or_not_raised(process, given):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tracepack.trace(process, *given)


def test_a_try_around_the_trace_catches_nothing_of_the_function():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            tracepack.trace(lambda x, n, m: x * (n / m), X, 1, 2)
        except ZeroDivisionError:
            pytest.fail("it divides by 2")
