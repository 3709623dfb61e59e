"""Texts that hold a tensor: data decides them, so that no check of one is left out at sizes that were seen before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.trust.trials import refused, trial

X = torch.tensor([[-2.5, 1.0], [0.0, 3.0]])
SEVENS = torch.full((2, 2), 777.0)

TEXTS: list[Callable[[torch.Tensor], Any]] = [
    lambda x: "%s" % x,  # noqa: UP031  # the form is tested
    lambda x: "%s" % x[0, 0],  # noqa: UP031  # the form is tested
    lambda x: "%(a)s" % {"a": x[0, 0]},  # noqa: UP031  # the form is tested
    lambda x: "%s %d" % (x[0, 0].item(), 1),  # noqa: UP031  # the form is tested
    lambda x: "%s" % (x.tolist(),),  # noqa: UP031  # the form is tested
    lambda x: "{}".format(x[0, 0]),  # noqa: UP032  # the form is tested
    lambda x: f"{x[0, 0]:.1f}",
]


@pytest.mark.usefixtures("no_blocks")  # which take the texts of numbers
@pytest.mark.parametrize("text", TEXTS)
def test_a_branch_on_the_text_of_a_tensor_is_refused(text: Callable[[torch.Tensor], Any]) -> None:
    def process(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if "777" in text(x) else x.sum()  # a branch of a graph gives one rank

    refused(trial(lambda: process, X, others=[(SEVENS,)]), "a branch was taken on it", "in process")


@pytest.mark.parametrize("text", TEXTS[3:5])
def test_a_branch_on_the_text_of_numbers_is_a_block(text: Callable[[torch.Tensor], Any]) -> None:
    def process(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if "777" in text(x) else x.sum()

    assert trial(lambda: process, X, others=[(SEVENS,), (X * 3,)]) == "right"


def test_the_text_of_a_tensor_is_recorded() -> None:
    def process(x: torch.Tensor) -> Any:
        return "%s" % x, "%(a)s" % {"a": x[0, 0]}  # noqa: UP031  # the form is tested

    assert trial(lambda: process, X, others=[(SEVENS,)]) == "right"
