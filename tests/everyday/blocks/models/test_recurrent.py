"""Blocks that call recurrent layers of torch as they are, whose Python code no recording follows."""

from __future__ import annotations

import pytest
import torch

import tracepack
from tests.everyday.case import Case, check

torch.manual_seed(3)
LSTM = torch.nn.LSTM(3, 4, batch_first=True).eval()
GRU = torch.nn.GRU(3, 4, batch_first=True).eval()
RNN = torch.nn.RNN(3, 4).eval()
WORDS, HEAD = torch.nn.Embedding(10, 3).eval(), torch.nn.Linear(4, 10).eval()


def until_large(x, n):
    rounds = 0
    y, (h, c) = LSTM(x)
    while rounds < n and y.abs().max().item() < 0.9:
        y, (h, c) = LSTM(x, (h, c))
        rounds += 1
    return y, h, rounds


def written(start, n):
    ids, h = [start], torch.zeros(1, 1, 4)
    while len(ids) < n:
        y, h = GRU(WORDS(torch.tensor([[ids[-1]]])), h)
        word = HEAD(y[0, -1]).argmax().item()
        if word == 3:
            break
        ids.append(word)
    return ids


def last_state(x, n):
    h, rounds = torch.zeros(1, x.shape[1], 4), 0
    while rounds < n:
        _, h = RNN(x, h)
        rounds += 1
        if h.max().item() > 0.5:
            break
    return h, rounds


def rows(*shape):
    return torch.rand(shape, generator=torch.Generator().manual_seed(sum(shape)))


CASES = {
    "nn.LSTM": Case(until_large, [rows(2, 5, 3), 3], [[rows(1, 2, 3), 5], [rows(4, 7, 3), 0], [rows(3, 1, 3), 2]]),
    "nn.GRU": Case(written, [1, 4], [[2, 9], [5, 1], [7, 30]]),
    "nn.RNN": Case(last_state, [rows(5, 2, 3), 3], [[rows(2, 1, 3), 5], [rows(3, 2, 3), 0]]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_recurrent_layer_answers_as_python_does(name) -> None:
    with torch.no_grad():  # with gradients torch takes another kernel, which rounds otherwise
        check(CASES[name])


def test_a_state_that_begins_as_none_is_refused_with_the_form() -> None:
    def process(x, n):
        h, found = None, []
        for _ in range(n):
            y, h = GRU(x, h)
            if y.mean().item() > 0.5:
                break
            found.append(y.sum().item())
        return found

    words = (
        r"it calls the model GRU, which is given a NoneType. Begin with a tensor in place of None: state = torch.zeros"
    )
    with pytest.raises(tracepack.RecordError, match=words):
        tracepack.trace(process, rows(2, 5, 3), 3)


ATTENTION = torch.nn.MultiheadAttention(4, 2, batch_first=True).eval()
SCRIPTED = tracepack.script(GRU, device="cpu", contiguous=True)


def gru_until_large(x, n):
    rounds = 0
    y, h = GRU(x)
    while rounds < n and y.abs().max().item() < 0.9:
        y, h = GRU(x, h)
        rounds += 1
    return y


def op_until_large(x, n):
    rounds = 0
    y, h = SCRIPTED(x)
    while rounds < n and y.abs().max().item() < 0.9:
        y, h = SCRIPTED(x, h)
        rounds += 1
    return y


def attended(x):
    return ATTENTION(x, x, x)[0]


@pytest.mark.parametrize(
    ("process", "example", "model"),
    [(gru_until_large, (rows(2, 5, 3), 3), "GRU"), (attended, (rows(2, 3, 4),), "ATTENTION")],
)
def test_a_model_that_runs_other_kernels_is_named_with_its_op(process, example, model) -> None:
    words = rf"The model {model} runs other kernels .* Make an op of it before: {model} = tracepack.script"
    with pytest.raises(tracepack.RecordError, match=words):
        tracepack.trace(process, *example)


def test_an_op_of_it_is_called_in_a_block() -> None:
    mod = tracepack.trace(op_until_large, rows(2, 5, 3), 3)
    for x, n in ((rows(4, 7, 3), 0), (rows(3, 2, 3), 5)):
        torch.testing.assert_close(mod(x, n), op_until_large(x, n))
