"""Lists of numbers that a model takes: they are fixed, in the file as in the recording."""

from __future__ import annotations

import pytest
import torch

import tracepack
from tests.everyday.case import loaded


class TakesNumbers(torch.nn.Module):
    def forward(self, x: torch.Tensor, places: list[int]) -> torch.Tensor:
        return x + places[1] if places[0] > 2 else x * 2


def test_a_list_of_numbers_that_a_model_takes_is_fixed_in_the_file_too() -> None:
    op = tracepack.script(TakesNumbers(), name="taker", device="cpu")
    x = torch.rand(3)
    with pytest.warns(UserWarning, match=r"a list is fixed to \[1, 2, 3\], because a model takes it"):
        mod = loaded(lambda x, places: op(x, places), x, [1, 2, 3])
    assert torch.equal(mod(x, [1, 2, 3]), x * 2)
    with pytest.raises(tracepack.GuardError, match=r"got \[4, 2, 3\]; expected \[1, 2, 3\]"):
        mod(x, [4, 2, 3])
