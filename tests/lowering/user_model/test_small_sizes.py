"""Models whose answer or state is another one at small sizes, of one dimension or of several at once."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import tracepack


class Asking(nn.Module):
    def __init__(self, question):
        super().__init__()
        self.question = question

    def forward(self, x):
        return x * 2 if self.question(x) else x * 3


QUESTIONS = {
    "numel below 4": lambda x: x.numel() < 4,
    "one element": lambda x: x.numel() == 1,
    "a product": lambda x: x.shape[0] * x.shape[1] == 1,
    "a sum": lambda x: x.shape[0] + x.shape[1] < 4,
    "a quotient": lambda x: x.numel() // 4 == 0,
    "both": lambda x: x.shape[0] == 1 and x.shape[1] == 1,
    "no dimension left": lambda x: x.squeeze().dim() == 0,
}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_two_sizes_that_are_small_at_once(question):
    model = Asking(question)
    op, stopped = tracepack.script(model), 0
    mod = tracepack.trace(lambda x: op(x), torch.rand(4, 5))
    for rows in (1, 2, 3, 6):
        for columns in (1, 2, 3, 6):
            x = torch.ones(rows, columns)
            try:
                assert torch.equal(mod(x), model(x)), (rows, columns)
            except tracepack.SignatureError:
                assert question(x), (rows, columns)
                stopped += 1
    assert 1 <= stopped <= 5
    with pytest.raises(tracepack.SignatureError, match="the sizes do not satisfy N != 1 or M != 1"):
        mod(torch.ones(1, 1))


def test_two_inputs_of_one_row():
    class Two(nn.Module):
        def forward(self, a, b):
            return a.sum() + b.sum() if a.shape[0] * b.shape[0] == 1 else a.sum() - b.sum()

    op = tracepack.script(Two())
    mod = tracepack.trace(lambda a, b: op(a, b), torch.rand(4), torch.rand(3))
    with pytest.raises(tracepack.SignatureError, match="the sizes do not satisfy N != 1 or M != 1"):
        mod(torch.ones(1), torch.ones(1))
    assert float(mod(torch.ones(1), torch.ones(2))) == -1.0


class Stepping(nn.Module):
    def __init__(self, question):
        super().__init__()
        self.question = question
        self.register_buffer("n", torch.zeros(()))

    def forward(self, x):
        y = x + self.n
        self.n += 1 if self.question(x) else 100
        return y


@pytest.mark.parametrize(
    ("question", "other"),
    [
        (lambda x: x.shape[0] > 1, torch.zeros(1, 4)),
        (lambda x: x.shape[0] * x.shape[1] > 3, torch.zeros(1, 2)),
        (lambda x: x.is_contiguous(), torch.zeros(4, 3).t()),
    ],
    ids=["one row", "few elements", "a layout"],
)
def test_state_that_only_the_next_run_shows(question, other):
    op = tracepack.script(Stepping(question))
    mod = tracepack.trace(lambda x: op(x), torch.rand(3, 4))
    with pytest.raises(tracepack.TracepackError, match="the sizes do not satisfy|size|how its inputs lie in memory"):
        mod(other)
    assert float(mod.state()["Stepping.n"]) == 0.0
