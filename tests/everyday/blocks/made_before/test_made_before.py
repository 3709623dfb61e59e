"""Blocks that change what is made before calls of other functions: the calls stay where they are."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

import tracepack
from tests.everyday.blocks.made_before import of_calls_between as functions
from tests.everyday.blocks.test_blocks import blocks
from tests.everyday.case import Case, check, loaded


def drawn(*shape: int) -> torch.Tensor:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def boxes(count: int) -> torch.Tensor:
    corners = drawn(count, 2) * 50
    return torch.cat([corners, corners + drawn(count, 2) * 60], 1)


ROW, ROWS = [drawn(6)], [[drawn(9)], [drawn(1)], [torch.tensor([0.9, 0.2])]]
CASES = {
    "a mask": Case(functions.suppressed, [drawn(5), drawn(5, 5)], [[drawn(n), drawn(n, n)] for n in (0, 1, 9)]),
    "centers": Case(functions.centers, [drawn(8, 3)], [[drawn(12, 2)], [torch.ones(5, 3)]]),
    "an array": Case(functions.envelope, [np.array([0.0, 1.0, -2.0])], [[drawn(7).double().numpy()], [np.zeros(0)]]),
    "a copy": Case(functions.edges, [torch.tensor([0.1, 0.9, 0.8, 0.2])], [*ROWS, [torch.zeros(0)]]),
    "a copy that a helper is given": Case(functions.halved, [boxes(5)], [[boxes(9)], [boxes(1)]]),
    "an array that a helper is given": Case(
        functions.sorted_slowly, [drawn(4).double().numpy()], [[drawn(9).double().numpy()], [np.ones(1)]]
    ),
    "what torch computes": Case(functions.cut, ROW, ROWS),
    "distances": Case(functions.pairs, [drawn(4, 2)], [[drawn(6, 3)], [drawn(1, 2)]]),
    "what numpy computes": Case(
        functions.filled_gaps, [np.array([0.2, np.nan, 0.9])], [[np.array([1.0, np.nan, np.nan, 2.0])], [np.ones(1)]]
    ),
    "what the lines between write": Case(functions.written_between, ROW, ROWS),
    "an object": Case(functions.tracked, ROW, [*ROWS, [torch.zeros(0)]]),
    "containers": Case(functions.grouped, ROW, [*ROWS, [torch.zeros(0)]]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_call_between_what_a_loop_fills_and_the_loop_stays_before_the_block(name) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(CASES[name])


def test_the_call_is_recorded() -> None:
    (text,) = blocks(loaded(functions.suppressed, drawn(5), drawn(5, 5)))
    assert "cdist" not in text


OTHERS = ("under_another_name", "a_view", "in_a_list", "in_a_function", "an_object_twice")


@pytest.mark.parametrize("name", OTHERS)
def test_what_something_else_holds_too_is_not_copied(name) -> None:
    with pytest.raises(tracepack.RecordError):
        tracepack.trace(getattr(functions, name), *ROW)
