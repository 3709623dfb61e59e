"""The number of pieces into which a size is cut: it is said where it is fixed, and is a condition of the signature."""

from __future__ import annotations

import pytest
import torch

import tracepack
from tests.everyday.case import loaded


@pytest.mark.parametrize(
    "process",
    [
        lambda x: x.chunk(4, 1),
        lambda x: len(x.chunk(4, 1)),
        lambda x: x.chunk(4, 1)[1],
        lambda x: torch.cat(x.chunk(4, 1)[::-1], 1),
    ],
)
def test_a_number_of_chunks_is_said_and_is_a_condition(process) -> None:
    with pytest.warns(UserWarning, match=r"the number of pieces is fixed to 4\. A list comprehension over those of"):
        mod = loaded(process, torch.rand(4, 8))
    assert mod.signature.endswith("where len(x.chunk(4, 1)) == 4")
    found, wanted = mod(x := torch.rand(3, 11)), process(x)
    torch.testing.assert_close(found, wanted, rtol=0, atol=0)
    with pytest.raises(tracepack.GuardError, match="another number of results than when it was recorded"):
        mod(torch.rand(4, 6))


@pytest.mark.parametrize(
    "process",
    [
        lambda x: len([c + 0 for c in x.chunk(4, 1)]),
        lambda x: [c + 0 for c in x.chunk(4, 1)][-1],
        lambda x: torch.cat([c + 0 for c in x.chunk(4, 1)][::-1], 1),
    ],
)
def test_the_form_for_chunks_takes_any_number_of_them(process) -> None:
    mod = loaded(process, torch.rand(4, 8))
    for size in (1, 3, 6, 9, 0):
        torch.testing.assert_close(mod(x := torch.rand(2, size)), process(x), rtol=0, atol=0)


def test_pieces_that_are_unpacked_are_a_condition_only() -> None:
    def process(x):
        one, other = x.chunk(2, 1)
        return one.sum() + other.sum()

    mod = loaded(process, torch.rand(4, 8))
    assert mod.signature == "(x: f32[N,M]) -> f32[] where len(x.chunk(2, 1)) == 2"


def test_pieces_of_a_size_that_stays_are_as_many_for_every_input() -> None:
    weights = torch.rand(8, 12)
    mod = loaded(lambda x, y: ((x @ weights).chunk(4, -1)[0], y + 1), torch.rand(4, 8), torch.rand(5, 6))
    assert mod.signature == "(x: f32[N,8], y: f32[M,K]) -> (f32[N,3], f32[M,K])"
