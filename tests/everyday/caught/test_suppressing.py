"""`with suppress(ValueError):` is recorded as the `try` that does the same."""

from __future__ import annotations

import warnings

import pytest
import torch

import tracepack
from tests.everyday.case import Case, check
from tests.everyday.caught import own_suppress, suppressing

X = torch.tensor([0.2, 0.9])
CASES = {
    "a number": Case(suppressing.number, ["3", X], [["z", X], ["", X[:1]], ["-1_0", X]]),
    "an entry": Case(suppressing.entry, ["a"], [["b"], ["z"], [""]]),
    "a list": Case(suppressing.many, [["1", "2"]], [[[]], [["x"]], [["x", "4", "5"]]]),
    "a sum": Case(suppressing.total, [["1", "2"]], [[[]], [["x"]], [["x", "4", "5"]]]),
    "in a helper": Case(suppressing.second, ["a,1"], [["a"], ["1,x"], ["4,5"]]),
    "in a helper for each": Case(suppressing.seconds, [["a,1", "2,3"]], [[[]], [["a"]], [["1,x", "4,5", "6,7"]]]),
    "a return in a loop": Case(suppressing.first_known, [["b", "c"]], [[[]], [["z", "a"]], [["z"] * 4]]),
    "two in one line": Case(suppressing.nested, ["1"], [["x"], ["0"]]),
    "one in another": Case(suppressing.nested_number, ["5"], [["x"], ["0"], ["-3"]]),
}


@pytest.mark.parametrize("name", CASES)
def test_what_suppresses_an_error_answers_as_in_python(name) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(CASES[name])


def test_one_behind_another_context_manager_is_told_at_the_trace() -> None:
    process = suppressing.with_gradients_off
    with pytest.warns(UserWarning, match="which it catches itself|a recording holds no `except`"):
        mod = tracepack.trace(process, "3", X)
    with pytest.raises(tracepack.TracepackError):
        mod("x", X)


def test_errors_that_tensors_decide_are_told_at_the_trace(no_blocks) -> None:
    with pytest.warns(UserWarning, match="raises ValueError then, which it catches itself: a recording holds no"):
        tracepack.trace(suppressing.of_tensors, X)


@pytest.mark.parametrize(
    ("process", "given"),
    [(suppressing.of_another_kind, X), (own_suppress.number, "3")],
    ids=["other kind", "another function of that name"],
)
def test_nothing_is_told_of_errors_that_are_not_suppressed(process, given) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mod = tracepack.trace(process, given)
    if process is own_suppress.number:
        with pytest.raises(tracepack.TracepackError):
            mod("x")
