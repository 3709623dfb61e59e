"""Padded and packed sequences, as recurrent models take them, in a processing function."""

from __future__ import annotations

import pytest
import torch
from torch.nn.utils import rnn

from tests.campaigns.check import Check
from tests.campaigns.tally import RIGHT

LSTM = torch.nn.LSTM(3, 5, batch_first=True).requires_grad_(False)
ROWS, LENGTHS = torch.rand(3, 6, 3), torch.tensor([3, 6, 2])


def packed(rows, lengths):
    sequence = rnn.pack_padded_sequence(rows, lengths, batch_first=True, enforce_sorted=False)
    return rnn.pad_packed_sequence(LSTM(sequence)[0], batch_first=True)


def padded(rows, lengths):
    return rnn.pad_sequence([rows[0], rows[1, :2]], batch_first=True, padding_value=-1.0)


@pytest.mark.parametrize("process", [packed, padded])
def test_answers_as_python_at_other_lengths_and_batch_sizes(process) -> None:
    others = [[torch.rand(3, 6, 3), torch.tensor([6, 1, 4])], [torch.rand(2, 9, 3), torch.tensor([2, 9])]]
    found = Check(process, [ROWS, LENGTHS]).run(others)
    assert (found.outcome, found.reason) == (RIGHT, "")
