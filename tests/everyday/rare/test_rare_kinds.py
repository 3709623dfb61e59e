"""A `torch.Size` or a member of an Enum that only a rare side gives is right, refused, or stopped."""

from __future__ import annotations

import copy

import pytest
import torch

from tests.everyday.case import loaded
from tests.everyday.rare.holding import held, same
from tests.everyday.rare.rare_kinds import FOLLOWED, RARE_KINDS

EXAMPLE = (torch.tensor([1.0, 2.0, 3.0]), [3, 1, 2], "2024-01-05")
LEADING = [
    (torch.tensor([1.0, 2.0, 2.0, 1.0]), [5, 3, 1388, 5], "2024-02-29"),
    (torch.tensor([4.0]), [1], "2024-02-29"),
    (torch.tensor([4.0, 1.0]), [5, 7], "2023-01-01"),
    (torch.zeros(0), [], "2023-02-28"),
]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("process", RARE_KINDS)
def test_what_a_rare_side_gives_keeps_its_class(process) -> None:
    held(process, EXAMPLE, LEADING)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("process", RARE_KINDS)
def test_what_a_rare_side_gives_where_no_block_can_stand(process, no_blocks) -> None:
    held(process, EXAMPLE, LEADING)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("process", sorted(FOLLOWED, key=lambda each: each.__name__))
def test_sizes_of_a_rare_side_are_followed(process) -> None:
    mod = loaded(process, *copy.deepcopy(EXAMPLE))
    for given in LEADING:
        assert same(mod(*copy.deepcopy(given)), process(*copy.deepcopy(given)))
