"""A side that hardly any data take is right, refused, or stopped: replays look for data that lead there."""

from __future__ import annotations

import pytest
import torch

import tracepack
from tests.everyday.rare.holding import held
from tests.everyday.rare.rare_sides import RARE
from tracepack.pipeline.recheck.reach.rare_data import RareData
from tracepack.pipeline.recheck.reach.solved_numbers import solved_numbers

LEADING = ([1000, 400, 1], [400], [1, 400, 1000], [1401], [1400, 1, 0], [1, 2], [700, 5, 1], [])


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("process", RARE)
def test_a_rare_side_is_held_against_the_function(process) -> None:
    held(process, [[1, 2, 3]], [[items] for items in LEADING])


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("process", RARE)
def test_a_rare_side_where_no_block_can_stand(process, no_blocks) -> None:
    held(process, [[1, 2, 3]], [[items] for items in LEADING])


def test_the_numbers_at_which_comparisons_turn() -> None:
    def process(n, x):
        return n * 7 + 3 == 2803, 10 - n > 4, n // 5 == 12, -n < 8, x / 4 >= 0.5

    solved = solved_numbers(tracepack.trace(process, 1, 2.0).graph)
    assert {400, 6, 60, -8, 2} <= {*solved}


def test_data_at_random_keep_their_kinds() -> None:
    data = RareData([7, "magic"])
    example = [3, 2.5, "word", True, [1, 2], ("a", 1), {"k": 1.0}, torch.rand(2, 3), torch.tensor([1, 4])]
    for _ in range(200):
        made = data.like(example)
        assert [type(each) for each in made] == [type(each) for each in example]
        assert all(type(item) is int for item in made[4])
        assert [type(item) for item in made[5]] == [str, int]
        assert made[7].shape == (2, 3)
        assert made[7].dtype is torch.float32
        assert made[8].dtype is torch.int64


def test_the_same_data_come_each_time() -> None:
    one, other = RareData([7]), RareData([7])
    assert [one.like([1, [2, 3]]) for _ in range(50)] == [other.like([1, [2, 3]]) for _ in range(50)]
