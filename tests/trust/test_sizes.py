"""Sizes that data decides: a branch on one is checked in every run; a signature says of a size only what holds."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, unpad_sequence

import tracepack
from tests.trust.trials import trial

X = torch.arange(24.0).reshape(4, 6)


def padded(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    packed = pack_padded_sequence(x[..., None], lengths, batch_first=True, enforce_sorted=False)
    found, _ = pad_packed_sequence(packed, batch_first=True)
    return found * 2 if found.size(1) > 3 else found


def split(x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
    first = torch.tensor_split(x, at)[0]
    return first * 2 if first.size(0) > 1 else first


def split_rows(x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
    return torch.tensor_split(x, at, dim=1)[0].sum(1) * torch.tensor_split(x, at, dim=1)[0].shape[1]


def unpadded(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    first = unpad_sequence(x, lengths, batch_first=True)[0]
    return first * 2 if first.size(0) > 3 else first


def repeated(x: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    found = x.repeat_interleave(counts, 0)
    return found * 2 if found.size(0) > 4 else found


def lengths(*numbers: int) -> torch.Tensor:
    return torch.tensor(numbers)


CASES: list[tuple[Any, torch.Tensor, list[torch.Tensor]]] = [
    (padded, lengths(4, 3, 2, 1), [lengths(3, 3, 2, 1), lengths(6, 3, 2, 1), lengths(2, 2, 2, 2)]),
    (split, lengths(1, 3), [lengths(2, 3), lengths(0, 3)]),
    (split_rows, lengths(1, 3), [lengths(2, 3), lengths(0, 3)]),
    (unpadded, lengths(4, 3, 2, 1), [lengths(3, 3, 2, 1), lengths(6, 1, 1, 1)]),
    (repeated, lengths(1, 1, 1, 1), [lengths(1, 2, 1, 1), lengths(0, 0, 0, 1)]),
]


@pytest.mark.parametrize(("process", "first", "others"), CASES)
def test_a_branch_on_a_size_that_data_decides(process: Any, first: torch.Tensor, others: list[torch.Tensor]) -> None:
    trial(lambda: process, X, first, others=[(X, other) for other in others])


def test_a_signature_fixes_no_size_that_a_number_moves() -> None:
    top = tracepack.trace(lambda x, k: x.topk(k).values, torch.randn(4, 8), 3)
    assert top(torch.randn(4, 8), 5).shape == (4, 5)
    assert "3" not in top.signature.split("->")[1].replace("f32", "")
    made = tracepack.trace(lambda n: torch.zeros(n), 3)
    assert made(7).shape == (7,)
    assert "3" not in made.signature.split("->")[1].replace("f32", "")


def test_a_signature_names_no_size_that_stops_moving() -> None:
    least = tracepack.trace(lambda x: torch.zeros(min(5, x.shape[0])), torch.randn(3, 2))
    assert least(torch.randn(9, 2)).shape == (5,)
    output = least.signature.split("->")[1].split("where")[0]
    assert "?" in output, least.signature
