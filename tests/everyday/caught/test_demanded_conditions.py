"""Errors and assertions whose conditions join sizes, texts and tensors: checks of every run, which fix nothing."""

from __future__ import annotations

import warnings

import pytest
import torch

import tracepack
from tests.everyday.case import loaded
from tests.everyday.caught import demands

SHORT, LONG = torch.tensor([0.1, 0.2]), torch.tensor([0.4, 2.0, 3.0, 0.1, 1.0, 9.0, 7.0])


GIVEN = [(x * sign, name) for x in (SHORT, LONG, LONG * 90) for sign in (1, -1) for name in ("raw", "clip", "")]


@pytest.mark.parametrize("example", [(SHORT, "raw"), (LONG, "a")])
@pytest.mark.parametrize(
    "process",
    [
        demands.data_first,
        demands.size_first,
        demands.either,
        demands.negated,
        demands.nested,
        demands.in_a_row,
        demands.asserted,
        demands.of_rest,
        demands.in_a_side,
        demands.in_a_helper,
    ],
)
def test_an_error_with_a_joined_condition_is_a_check_of_every_run(process, example) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mod = loaded(process, *example)
    for given in GIVEN:
        try:
            wanted = process(*given)
        except (ValueError, AssertionError):
            with pytest.raises(tracepack.GuardError, match="the function raises ValueError then|an assertion of the"):
                mod(*given)
        else:
            assert torch.equal(mod(*given), wanted), given
