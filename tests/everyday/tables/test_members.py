"""Members of an Enum out of a list or a dict that data decides."""

from __future__ import annotations

import enum
import warnings

import pytest
import torch

from tests.everyday.case import Case, check


class Risk(enum.Enum):
    LOW = "low"
    MID = "mid"
    HIGH = "high"


LEVELS = {"a": Risk.LOW, "b": Risk.HIGH}
SCORES = ([torch.tensor([0.1, 0.7, 0.2])], [[torch.tensor([0.9, 0.7, 0.2])], [torch.tensor([0.1, 0.7, 0.9])]])


def chosen(x):
    return list(Risk)[int(x.argmax())]


CASES = {
    "values": Case(lambda x: (chosen(x).value, tuple(Risk)[int(x.argmin())].name), *SCORES),
    "identity": Case(lambda x: (chosen(x) is Risk.HIGH, chosen(x) == Risk.HIGH, chosen(x) is not Risk.LOW), *SCORES),
    "of a value": Case(lambda x: Risk(["low", "mid", "high"][int(x.argmax())]) is Risk.HIGH, *SCORES),
    "of a dict": Case(lambda key: LEVELS[key].value, ["a"], [["b"]]),
    "in a loop": Case(lambda places: [list(Risk)[i].value for i in places], [[0, 1]], [[[2]], [[]], [[0, 0, 2]]]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_member_that_data_decides(name) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(CASES[name])
