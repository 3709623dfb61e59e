"""Models that several tests share."""

from __future__ import annotations

import torch
from torch import nn


class MyCell(nn.Module):
    """The cell of the seed page."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x, h):
        new_h = torch.tanh(self.linear(x) + h)
        return new_h, new_h


class Branching(nn.Module):
    """A module whose TorchScript takes a branch on data."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        y = self.linear(x)
        if bool(y.sum() > 0):
            return y * 2
        return y - 1


class Counter(nn.Module):
    """Multiplies by the number of its runs."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("runs", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.runs += 1
        return x * self.runs
