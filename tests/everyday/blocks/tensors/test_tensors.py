"""Blocks that work with tensors: they answer as Python does, and write to no tensor but their own."""

from __future__ import annotations

import warnings

import pytest
import torch

import tracepack
from tests.everyday.blocks.tensors import of_tensors as functions
from tests.everyday.blocks.test_blocks import blocks
from tests.everyday.case import Case, check, loaded


def points(count: int, scale: float = 1.0) -> torch.Tensor:
    """Points around two places."""
    return torch.randn(count, 2, generator=torch.Generator().manual_seed(count)) * scale + 4 * (
        torch.arange(count) % 2
    ).unsqueeze(1)


STEPS = torch.tensor([0.0, 0.1, 0.0, 5.0, 5.1, 5.0, 9.0])
CASES = {
    "k-means": Case(functions.k_means, [points(9)], [[points(30)], [points(2)], [torch.ones(5, 3)], [points(40, 3.0)]]),
    "speakers": Case(functions.speakers, [torch.eye(3)[[0, 1, 0, 0]]], [[torch.eye(3)[:0]], [points(12)], [points(1)]]),
    "newton": Case(
        functions.newton, [torch.tensor([2.0, 9.0])],
        [[torch.tensor([1e-9, 4.0, 1e9])], [torch.tensor([])], [torch.tensor([float("nan"), 1.0])]],
    ),
    "change points": Case(functions.change_points, [STEPS], [[STEPS[:3]], [STEPS.flip(0)], [torch.zeros(5)]]),
    "filled": Case(
        functions.filled, [torch.tensor([1.0, -2.0, 3.0])],
        [[torch.tensor([])], [-torch.ones(5)], [torch.arange(7.0).cos()]],
    ),
    "peeled": Case(functions.peeled, [points(5)], [[points(2)], [points(30)], [points(1)]]),
    "merged": Case(
        functions.merged, [torch.eye(4)[[0, 0, 1]], torch.tensor([0.1, 0.5, 0.3])],
        [[torch.eye(4)[:0], torch.tensor([])], [torch.ones(3, 4), torch.ones(3)], [torch.eye(4), torch.arange(4.0)]],
    ),
    "power": Case(functions.power, [torch.eye(2) * 3], [[torch.zeros(3, 3)], [torch.tensor([[2.0, 1.0], [1.0, 3.0]])]]),
    "smoothed": Case(
        functions.smoothed, [[torch.tensor([1.0, 9.0, 1.0, 9.0]), torch.ones(2)], torch.ones(2)],
        [[[], torch.ones(1)], [[torch.arange(20.0)], torch.zeros(3)], [[torch.ones(1)] * 3, torch.ones(2)]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_loops_that_go_on_by_tensors_are_run_as_they_are_written(name) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(CASES[name])


def _halved(x, y):
    while y.sum() > 1:
        y = y / 2
        if y.min() < 0:
            x[0] = 1.0
    return y


def test_a_block_writes_to_no_tensor_that_it_was_given() -> None:
    mod = loaded(_halved, torch.ones(2), torch.ones(3))
    assert blocks(mod)
    assert torch.equal(mod(torch.ones(2), torch.full((2,), 4.0)), torch.full((2,), 0.5))
    x = torch.zeros(2)
    with pytest.raises(tracepack.GuardError, match="writes to a tensor that is not its own"):
        mod(x, torch.tensor([-1.0, 9.0]))
    assert torch.equal(x, torch.zeros(2))


def _first_below(x, least):
    for each in x:
        row = each
        while row.sum() > least:
            row = row - 1
        if row.max() < 0:
            return row * 2
    return x[0]


def _shrunk(x):
    y = x
    while y.sum() > 3:
        if 50 < y.min() < 60:
            y = y.double()
        elif y.min() == -9:
            y = y.max()
        y = y / 2
    return y + 1


def test_the_rank_and_the_dtype_of_a_result_are_checked_where_code_goes_on_with_it() -> None:
    mod = loaded(_shrunk, torch.ones(5))
    assert torch.equal(mod(torch.ones(9)), torch.full((9,), 0.25) + 1)
    for other in (torch.full((2,), 55.0), torch.tensor([-9.0, 90.0])):
        with pytest.raises(tracepack.GuardError, match="another kind of value than on the example"):
            mod(other)


def test_a_block_that_works_with_tensors_runs_under_the_default_dtype_of_its_trace_alone() -> None:
    mod, matrix = loaded(functions.power, torch.eye(2)), torch.eye(2)
    torch.set_default_dtype(torch.float64)
    try:
        with pytest.raises(tracepack.GuardError, match="default dtype"):
            mod(matrix)
    finally:
        torch.set_default_dtype(torch.float32)


def test_a_result_shares_memory_with_what_the_block_was_given_where_it_does_in_python() -> None:
    mod = loaded(_first_below, torch.ones(2, 3), 5.0)
    x, y = torch.ones(2, 3), torch.full((2, 3), -1.0)
    mod(x, 5.0).add_(1)
    mod(y, 5.0).add_(1)
    assert torch.equal(x, torch.tensor([[2.0] * 3, [1.0] * 3]))
    assert torch.equal(y, torch.full((2, 3), -1.0))


def _later(x):
    y = x
    z = x
    while y.sum() > 5:
        y = y - 1
    doubled = x * 2
    y.mul_(3)
    return doubled, x + 0, z


def test_a_result_that_is_an_argument_on_the_example_is_another_tensor_on_other_data() -> None:
    check(Case(_later, [torch.ones(2)], [[torch.tensor([3.0, 4.0])], [torch.zeros(3)], [torch.full((3,), 5.0)]]))
