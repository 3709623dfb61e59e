"""The lowest precision on the way to an output, as golden examples need it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import tracepack
from tracepack.pipeline.comparing.precision import output_precisions, stepped_outputs
from tracepack.pipeline.running.runner import may_write

F32, F64 = torch.ones(3, 4), torch.ones(3, 4, dtype=torch.float64)
TABLE = torch.ones(4, dtype=torch.float32)


def written_through_a_view(x, y):
    total = torch.zeros(3, 4, dtype=torch.float64)
    row = total[0]
    row.copy_(x[0])
    return total, y


def written_after_it_was_read(x, y):
    total = y * 1.0
    before = total + 1
    view = total.view(-1)
    view += x.reshape(-1)
    return view.sum(), before


def through_numpy(x, y):
    half = y.numpy().astype(np.float16)
    return torch.from_numpy(half.astype(np.float64)), torch.from_numpy(np.exp(y.numpy()))


# a function of a float32 and a float64 tensor, and the precision of each output
CASES = {
    "alone": (lambda x, y: (x + 1, y + 1), ["float32", "float64"]),
    "a cast keeps what was lost": (lambda x, y: (x.double() * 2, y.float().double()), ["float32", "float32"]),
    "half": (lambda x, y: (x.bfloat16().double(), y.half() * y), ["float16", "float16"]),
    "both": (lambda x, y: (x + y, y @ y.T), ["float32", "float64"]),
    "sizes carry no numbers": (lambda x, y: (y * x.shape[0], x.numel() + 1), ["float64", ""]),
    "integers carry what decided them": (lambda x, y: (x.argmax(-1), (x > 0).double() * y), ["float32", "float32"]),
    "numbers": (lambda x, y: (x.sum().item(), y.sum().item() * 2), ["float32", "float64"]),
    "constants": (lambda x, y: (y + TABLE, y + 0.5), ["float32", "float64"]),
    "a write through a view": (written_through_a_view, ["float32", "float64"]),
    "a write after a read": (written_after_it_was_read, ["float32", "float32"]),
    "numpy": (through_numpy, ["float16", "float64"]),
    "branches": (
        lambda x, y: (
            tracepack.cond(y.sum() > 0, lambda v: v * 2, lambda v: v.float().double(), y),
            tracepack.cond(y.sum() > 0, lambda v: v * 2, lambda v: v - 1, y),
        ),
        ["float32", "float64"],
    ),
    "a loop": (
        lambda x, y: tracepack.while_loop(
            lambda a, b: a.sum() < 99, lambda a, b: (a * 2, (b + a).float().double()), y, y
        ),
        ["float32", "float32"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_lowest_precision_on_the_way(name) -> None:
    process, expected = CASES[name]
    mod = tracepack.trace(process, F32.clone(), F64.clone())
    found = output_precisions(mod.graph, may_write)
    assert [found.get(f"out[{i}]", "") for i in range(len(expected))] == expected


STEPS = {
    "rounded": lambda x: torch.round(x * 2) / 2,
    "rounded in place": lambda x: (x * 2).floor_(),
    "chosen": lambda x: torch.where(x > 0, x, x * 2),
    "by an index": lambda x: x[x.argmax(0)],
    "by a branch": lambda x: tracepack.cond(x.sum() > 0, lambda v: v * 2, lambda v: v - 1, x),
    "a number": lambda x: x * int(x.sum()),
    "numpy": lambda x: np.rint(x.numpy()),
    "written": lambda x: x.clone().masked_fill_(x > 0.5, 0.0),
    "an op": lambda x: tracepack.script(torch.nn.Threshold(0.5, 0.0))(x),
}
SMOOTH = {
    "a sum": lambda x: (x * 2).sum(),
    "sizes": lambda x: x * x.shape[0],
    "sorted": lambda x: x.sort().values,
    "an index that no floats decided": lambda x: x[torch.arange(2)],
    "an op": lambda x: tracepack.script(torch.nn.Softmax(-1))(x),
}


@pytest.mark.parametrize(
    ("process", "stepped"), [(f, True) for f in STEPS.values()] + [(f, False) for f in SMOOTH.values()]
)
def test_outputs_behind_a_step(process, stepped) -> None:
    mod = tracepack.trace(process, F32.clone())
    assert bool(stepped_outputs(mod.graph, may_write)) is stepped


class Mixed(torch.nn.Module):
    """Two results: one through float32 weights, one not."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 2)

    def forward(self, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.linear(y.float()).double(), y * 2


class Keeps(torch.nn.Module):
    """Its state, of float64, takes what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3, 4, dtype=torch.float64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        before = self.total + 0.0
        self.total += x
        return before


def test_ops_keep_their_results_apart_and_their_state_counts() -> None:
    mixed, keeps, exact = tracepack.script(Mixed()), tracepack.script(Keeps()), tracepack.script(Keeps())
    mod = tracepack.trace(lambda x, y: {"m": mixed(y), "low": keeps(x), "exact": exact(y)}, F32, F64)
    assert output_precisions(mod.graph, may_write) == {
        "out['m'][0]": "float32", "out['m'][1]": "float64", "out['low']": "float32", "out['exact']": "float64",
    }  # fmt: skip
