"""Blocks of plain Python in what new users wrote, and in loops that ask tensors for their numbers."""

from __future__ import annotations

import re
import warnings

import pytest
import torch

import tracepack
from tests.everyday.blocks import of_first_day as first_day
from tests.everyday.blocks import of_tensor_items as tensor_items
from tests.everyday.case import Case, check
from tests.everyday.values import first_day as caught

CASES = {
    "None of a helper": Case(first_day.slots, ["5s"], [[""], ["x"], ["12s"]]),
    "scores of documents": Case(first_day.hits, ["the cat dog"], [[""], ["zebra"], ["dog"]]),
    "a parser": Case(first_day.evaluate, ["1+2*(3-1)"], [["5"], ["8/4/2"], ["2*(1+1)*3"]]),
    "an object of counts": Case(first_day.logs, [["INFO: a", "bad", "ERROR: b", "INFO: c"]], [[[]], [["ERROR: x"]]]),
    "chunks": Case(first_day.chunk, ["hello wonderful world"], [[""], ["abc"]]),
    "sentiment": Case(
        first_day.sentiment, ["a good day"], [["very good"], ["x"], ["not really great good"], [""]]
    ),
    "moderate": Case(
        first_day.moderate, ["hi", torch.ones(3)], [["", torch.ones(3)], ["x", torch.full((2,), 9.0)]]
    ),
    "counts of runs": Case(first_day.viterbi, [torch.eye(3)[[0, 0, 1]]], [[torch.zeros(0, 3)], [torch.eye(3)[[2]]]]),
    "orders": Case(first_day.order, [["pay", "x", "ship"]], [[[]], [["ship"]], [["pay", "ship"]]]),
    "anomalies": Case(
        first_day.anomalies, [torch.arange(9.0)],
        [[torch.ones(2)], [torch.tensor([1.0, 1.0, 1.0, 1.0, 9.0])], [torch.tensor([1.0, 1.1, 0.9, 1.0, 9.0])],
         [torch.zeros(0)]],
    ),
    "no segments": Case(first_day.segs, [torch.zeros(3)], [[torch.ones(4)], [torch.tensor([0.9, 0.0, 0.9])]]),
    "settings": Case(first_day.config, ["=5"], [["w==3"], ["z=x"], ["a=1\nb = x # c\n\nd=2.5"], [""]]),
    "spelling": Case(first_day.spell, [["helo", "cat"], ["hello", "cat"]], [[[], []], [["ct"], ["cet"]]]),
    "runs of numbers": Case(
        tensor_items.rle, [torch.tensor([1, 1, 2, 3, 3])], [[torch.tensor([], dtype=torch.int64)], [torch.tensor([5])]]
    ),
    "islands": Case(tensor_items.grid, [torch.eye(2)], [[torch.ones(3, 3)], [torch.zeros(1, 2)]]),
    "largest": Case(
        tensor_items.mixed, [torch.tensor([1.0, 30.0, 3.0])], [[torch.tensor([5.0])], [torch.tensor([100.0, 1.0])]]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_people_write_is_run_as_it_is_written(name) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(CASES[name])


def test_a_tensor_of_which_more_is_asked_is_no_list() -> None:
    def process(x):
        out = []
        for i in range(len(x)):
            value = float(x[i])
            while value > 1:
                value /= 2
            out.append(value + x.sum().item())
        return out

    check(Case(process, [torch.ones(3)], [[torch.ones(3) * 5]]))


def test_a_pattern_of_a_block_that_needs_trust_is_said_at_once() -> None:
    def process(words):
        seen = set()
        return [re.sub(r"(\w+)@(\w+)", "x", word) for word in words if not (word in seen or seen.add(word))]

    with pytest.warns(UserWarning, match=r"the file needs load\(path, trust=True\): the time of re.sub\("):
        tracepack.trace(process, ["a@b!", "c"])


@pytest.mark.parametrize("process", caught.CAUGHT)
def test_an_error_that_code_catches_is_caught_in_a_block(process) -> None:
    check(Case(process, ["12"], [["x"], ["a"], ["a:b"], [""]]))
