"""Models that switch autocast on for a part of themselves."""

from __future__ import annotations

import io

import torch

import tracepack


class PartlyLow(torch.nn.Module):
    """Half precision in one block, a block of full precision in it, and an in-place write."""

    def __init__(self):
        super().__init__()
        self.linear, self.conv = torch.nn.Linear(4, 4), torch.nn.Conv1d(4, 2, 1)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            low = self.linear(x)
            low[:, :2].add_(1)
            with torch.autocast("cpu", enabled=False):
                full = self.linear(x)
            narrow = self.conv(x[..., None])
        return low.float() + full, narrow


def test_the_casts_of_autocast_are_packed():
    model = PartlyLow().eval().requires_grad_(False)
    op, file = tracepack.script(model), io.BytesIO()
    tracepack.trace(lambda x: op(x), torch.randn(3, 4)).save(file)
    loaded = tracepack.load(file.getvalue())
    for batch in (3, 5, 1):
        x = torch.randn(batch, 4)
        for wanted, got in zip(model(x), loaded(x), strict=True):
            assert got.dtype is wanted.dtype
            assert torch.equal(got, wanted)
