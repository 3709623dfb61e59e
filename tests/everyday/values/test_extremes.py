"""`max` and `min` of a tensor and a number: in Python the one or the other, by the data."""

from __future__ import annotations

import json

import pytest
import torch

import tracepack
from tests.everyday.case import Case, check

X = torch.tensor([0.25, 1.5, -2.0])
OTHERS = [[torch.tensor([3.0, 3.0])], [torch.tensor([-0.1, 0.1, -7.0, 2.5])], [torch.full((2,), 0.1)]]


def spread(x):
    return max(x.max() - x.min(), 1e-6)


CASES = {
    "divided by it": lambda x: (x - x.min()) / spread(x),
    "as a number": lambda x: float(spread(x)),
    "of three": lambda x: float(max(0.1, x.max(), x.sum())),
    "the least": lambda x: float(min(x.max(), 1)),
    "whole": lambda x: int(max(x.sum(), 0.3) * 10),
    "a text": lambda x: f"{max(x.mean(), 0.1)} {max(x.mean(), 0.1):.3f}",
    "rounded": lambda x: round(float(max(x.mean(), 0.1)), 3),
    "json": lambda x: json.dumps({"spread": float(spread(x))}),
    "of double precision": lambda x: float(max(x.double().mean(), 0.1)),
    "a bound": lambda x: x.clamp(max=max(x.mean(), 0.1)),
    "a tensor": lambda x: torch.as_tensor(spread(x)),
    "of tensors": lambda x: max(x.max(), x.sum()),
    "numbers of rows": lambda x: [float(max(value, 0.1)) for value in x],
}


@pytest.mark.parametrize("name", CASES)
def test_a_tensor_or_a_number(name) -> None:
    check(Case(CASES[name], [X], OTHERS))


RETURNED = {
    "as it is": spread,
    "in a dict": lambda x: {"spread": spread(x)},
    "reckoned with": lambda x: 1 - max(x.sum(), 0.0) * 2,
    "of rows": lambda x: [max(value, 0.0) for value in x],
    "with a bound that nothing reaches": lambda x: max(x.sum(), -1e30),
}


def test_what_is_a_tensor_or_a_number_is_returned_by_a_block() -> None:
    check(Case(spread, [X], OTHERS))


@pytest.mark.usefixtures("no_blocks")
@pytest.mark.parametrize("name", RETURNED)
def test_what_is_a_tensor_or_a_number_is_not_returned(name) -> None:
    words = (
        r"test_extremes.py:.*: max of a tensor and a number gives the one or the other, as the data decides, and so "
        r"does the function. Write float\(max\(…\)\) for a number, or torch.as_tensor\(max\(…\)\) for a tensor"
    )
    with pytest.raises(tracepack.RecordError, match=words):
        tracepack.trace(RETURNED[name], X)


def test_a_loop_that_carries_one_is_refused_or_right() -> None:
    def best(x):
        found = 0.0
        for value in x:
            found = max(found, value)
        return found

    with pytest.raises(tracepack.RecordError):
        tracepack.trace(best, X)
