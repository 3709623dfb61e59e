"""What a model asks at sizes of 0 and 1 only: torch.export leaves no guard on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import pytest
import torch

import tracepack

SIZES = (0, 1, 2, 3, 4, 5, 9)


class Chooses(torch.nn.Module):
    """Calls a function of its own."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        """Gives what the function gives."""
        return self.function(*args)


def _one_and_wide(x: Any) -> Any:
    return x * 2 if x.shape[0] == 1 and x.shape[1] > 8 else x


def _below_two(x: Any) -> Any:
    return x * 2 if x.shape[0] < 2 and x.shape[1] % 5 == 0 else x


def _nothing(x: Any) -> Any:
    return x.sum(0) + 3 if x.shape[0] == 0 and x.shape[1] != 4 else x.sum(0)


def _by_truth(x: Any) -> Any:
    if not x.shape[1]:
        return x.new_zeros(x.shape[0]) + (7 if x.shape[0] > 6 else 2)
    return x.sum(1)


def _chosen_before(x: Any) -> Any:
    n = 2 if x.shape[1] == 1 else 0
    return x * 2 if n and x.shape[0] == 9 else x


def _another_program(x: Any) -> Any:
    y = x
    for least in (0, 4):
        if y.shape[0] > least:
            y = torch.nn.functional.pad(y, (0, 4))[:, :4] * 2
    return y


def _of_two(x: Any, y: Any) -> Any:
    return x * 2 + y.sum() if x.shape[0] == 1 and y.shape[0] > 8 else x + y.sum()


def _by_product(x: Any, y: Any) -> Any:
    return y * 2 if x.numel() == 1 and y.shape[0] > 5 else y


def _inside_of_another(x: Any) -> Any:
    return x * 2 if x.shape[0] == 1 and x.shape[1] == 1 and x.shape[2] > 5 else x


CASES = [
    (_one_and_wide, [(3, 4)], [(1, 9)]), (_below_two, [(3, 4)], [(1, 5)]), (_nothing, [(3, 4)], [(0, 3)]),
    (_by_truth, [(3, 4)], [(9, 0)]), (_chosen_before, [(3, 4)], [(9, 1)]), (_another_program, [(3, 4)], [(0, 3)]),
    (_of_two, [(3, 4), (5, 4)], [(1, 4), (9, 4)]), (_by_product, [(3, 4), (5, 4)], [(1, 1), (9, 4)]),
    (_inside_of_another, [(3, 4, 2)], [(1, 1, 9)]),
]  # fmt: skip


@pytest.mark.parametrize(("function", "shapes", "apart"), CASES)
def test_what_a_model_asks_at_small_sizes_only_is_a_guard(
    function: Any, shapes: Sequence[tuple[int, ...]], apart: Sequence[tuple[int, ...]]
) -> None:
    model = Chooses(function)
    op = tracepack.script(model, device="cpu")
    traced = tracepack.trace(lambda *args: op(*args), *map(torch.rand, shapes))
    with pytest.raises(tracepack.TracepackError):
        traced(*map(torch.rand, apart))
    for sizes in product(SIZES, repeat=len(shapes[0])):
        given = [torch.rand(sizes), *map(torch.rand, shapes[1:])]
        try:
            got = traced(*given)
        except tracepack.TracepackError:
            continue
        assert torch.equal(got, model(*given)), sizes
    assert torch.equal(traced(*(ones := [torch.rand(3, *shape[1:]) for shape in shapes])), model(*ones))


def test_a_batch_of_one_is_taken_where_its_way_answers_alike() -> None:
    model = Chooses(lambda x: x.squeeze(0).unsqueeze(0) if x.shape[0] == 1 else x)
    op = tracepack.script(model, device="cpu")
    traced = tracepack.trace(lambda x: op(x), torch.rand(3, 4))
    for sizes in product(SIZES, repeat=2):
        assert torch.equal(traced(x := torch.rand(sizes)), model(x)), sizes
