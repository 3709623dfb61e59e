"""Choices between values of two dtypes, ranks or types: both sides answer, whichever the example took."""

from __future__ import annotations

import pytest
import torch

import tracepack
from tests.everyday.case import Case, check, loaded

from .of_unlike_helpers import CASES as IN_HELPERS
from .of_unlike_sides import CASES, OFF, ON, X, Y

TRACED = [(name, place) for name, (_, examples) in CASES.items() for place in range(len(examples))]


@pytest.mark.parametrize(("name", "place"), TRACED)
def test_both_sides_answer_whichever_the_example_took(name, place) -> None:
    process, examples = CASES[name]
    check(Case(process, examples[place], [*examples[:place], *examples[place + 1 :]]))


def test_a_default_is_what_the_function_takes_it_for() -> None:
    process = CASES["mask"][0]
    mod = loaded(process, *ON)
    assert torch.equal(mod(Y), process(Y))


def test_a_choice_before_what_no_block_has_is_said_and_shown() -> None:
    def process(x, flag):
        y = x[None] if flag else x
        return torch.fft.fft(y).abs()

    with pytest.warns(UserWarning, match="its sides give float32 of rank 3 and float32 of rank 2"):
        mod = loaded(process, *ON)
    assert "where flag" in str(mod.signature)
    torch.testing.assert_close(mod(Y, True), process(Y, True))
    with pytest.raises(tracepack.GuardError, match="got False; expected True"):
        mod(*OFF)


def test_a_flag_that_changes_the_rank_before_what_no_block_has_is_said() -> None:
    def process(x, keep):
        y = x.std(-1, keepdim=keep)
        return torch.fft.fft(y).abs()

    words = r"on other inputs it gives .*with 1 dimensions instead of .*2 dimensions.*, which is refused\. Give"
    with pytest.warns(UserWarning, match=words):
        mod = loaded(process, *ON)
    torch.testing.assert_close(mod(Y, True), process(Y, True))
    with pytest.raises(tracepack.GuardError, match="another kind of value than on the example"):
        mod(*OFF)


def test_a_trace_tries_other_inputs_without_a_trace_of_them() -> None:
    def process(x, flag):
        y = x.clone()
        y[0] = 7.0
        return y.sum() if flag else y

    given = X.clone()
    torch.manual_seed(3)
    mod = loaded(process, given, True)
    drawn = torch.rand(1)
    torch.manual_seed(3)
    assert torch.equal(drawn, torch.rand(1))
    assert torch.equal(given, X)
    assert torch.equal(mod(*OFF), process(*OFF))


@pytest.mark.parametrize(
    ("name", "place"), [(name, place) for name, (_, examples) in IN_HELPERS.items() for place in range(len(examples))]
)
def test_a_helper_goes_both_ways_whatever_it_is_reached_by(name, place) -> None:
    process, examples = IN_HELPERS[name]
    check(Case(process, examples[place], [*examples[:place], *examples[place + 1 :]]))
