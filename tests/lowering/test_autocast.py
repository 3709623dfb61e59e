"""Models that switch autocast on for a part of themselves."""

from __future__ import annotations

import io

import pytest
import torch
from torch import get_autocast_dtype as dtype_of_autocast

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


class Rotary(torch.nn.Module):
    """A block that switches autocast off, as rotary embeddings have it."""

    def forward(self, x):
        with torch.autocast("cpu", enabled=False):
            return x @ x.transpose(0, 1)


class Asking(torch.nn.Module):
    def forward(self, x):
        return x * 2 if torch.is_autocast_enabled("cpu") else x * 3


class Convolved(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv1d(4, 2, 1).requires_grad_(False)

    def forward(self, x):
        return self.conv(x[..., None]).relu()


ROTARY, ASKING, CONVOLVED, LINEAR = Rotary(), Asking(), Convolved(), torch.nn.Linear(4, 4).requires_grad_(False)
LAYER = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval().requires_grad_(False)


def of_dtype(x):
    return x.to(dtype_of_autocast("cpu"))


FUNCTIONS = {
    "block": ROTARY,
    "block of a model": lambda x: tracepack.script(ROTARY)(x),
    "question": lambda x: x * 2 if torch.is_autocast_enabled("cpu") else x,
    "question of a model": lambda x: tracepack.script(ASKING)(x),
    "other name": of_dtype,
    "fast path": lambda x: tracepack.script(LAYER)(x[None]),
    "TorchScript": lambda x: tracepack.script(torch.jit.script(CONVOLVED))(x),
}


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize("process", FUNCTIONS.values(), ids=FUNCTIONS)
def test_what_asks_for_autocast_or_switches_it_off_is_stopped_in_autocast(process):
    x, file = torch.randn(3, 4), io.BytesIO()
    traced = tracepack.trace(process, x)
    traced.save(file)
    for pipeline in (traced, tracepack.load(file.getvalue())):
        wanted = pipeline(x)
        with torch.autocast("cpu", dtype=torch.bfloat16), pytest.raises(tracepack.GuardError, match="autocast, which"):
            pipeline(x)
        assert torch.equal(pipeline(x), wanted)


@pytest.mark.parametrize("model", [LINEAR, CONVOLVED])
def test_other_models_run_in_autocast_as_in_python(model):
    x = torch.randn(3, 4)
    op = tracepack.script(model)
    traced = tracepack.trace(lambda x: op(x), x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        wanted, got = model(x), traced(x)
    assert got.dtype is wanted.dtype is torch.bfloat16
    assert torch.equal(got, wanted)
