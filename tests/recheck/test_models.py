"""State that a model keeps where its attributes do not show it, and tensors that a file keeps otherwise."""

from __future__ import annotations

import itertools
import os

import numpy as np
import pytest
import torch
from torch import nn

import tracepack

X = torch.rand(2, 3)


class Counting(nn.Module):
    k = 0
    calls = [0]  # noqa: RUF012 - that is what is tried
    array = np.zeros(1)

    def __init__(self, count):
        super().__init__()
        self.count = count
        self.number, self.rounds = np.zeros(1), itertools.count()

    def forward(self, x):
        return x * (2 if self.count(self) > 60 else 1)


def in_class(model):
    type(model).k += 1
    return type(model).k


def in_list_of_class(model):
    model.calls[0] += 1
    return model.calls[0]


def in_array(model):
    model.number += 1
    return model.number[0]


def in_iterator(model):
    return next(model.rounds)


def in_function(model):
    in_function.calls += 1
    return in_function.calls


in_function.calls = 0


def in_environment(model):
    os.environ["TRACEPACK_TEST_CALLS"] = str(int(os.environ.get("TRACEPACK_TEST_CALLS", "0")) + 1)
    return int(os.environ["TRACEPACK_TEST_CALLS"])


def in_default(model, calls=[0]):  # noqa: B006 - that is what is tried
    calls[0] += 1
    return calls[0]


@pytest.mark.parametrize("count", [in_class, in_list_of_class, in_iterator, in_function, in_environment, in_default])
def test_state_of_a_model_that_shows_after_many_calls(count, monkeypatch):
    monkeypatch.setenv("TRACEPACK_TEST_CALLS", "0")
    op = tracepack.script(Counting(count))
    with pytest.raises(tracepack.RecordError, match="the function keeps state in"):
        tracepack.trace(lambda x: op(x), X)


def test_an_array_in_which_a_model_counts_is_named_as_its_attribute():
    op = tracepack.script(Counting(in_array))
    with pytest.raises(tracepack.LoweringError, match="the model changes its attribute 'number' while it runs"):
        tracepack.trace(lambda x: op(x), X)


def test_state_of_a_hook_that_shows_after_many_calls():
    model, calls = nn.Linear(3, 3), [0]

    def hook(module, args, out):
        calls[0] += 1
        return out * (2 if calls[0] > 60 else 1)

    model.register_forward_hook(hook)
    op = tracepack.script(model)
    with pytest.raises(tracepack.RecordError, match="the function keeps state in"):
        tracepack.trace(lambda x: op(x), X)


def test_a_hook_that_only_notes_is_taken():
    model, notes = nn.Linear(3, 3), {}
    model.register_forward_hook(lambda module, args, out: notes.update(last=out.detach()))
    op = tracepack.script(model)
    mod = tracepack.trace(lambda x: op(x), X)
    assert torch.equal(mod(X), model(X))


EXPANDED = torch.arange(4.0).expand(3, 4)
OVERLAPPING = torch.rand(6).as_strided((3, 4), (1, 1))


def written_past(take):
    def process(x):
        y = take() * 1
        y.reshape(-1).mul_(2)
        return y + x.sum()

    return process


@pytest.mark.parametrize("take", [lambda: EXPANDED.t(), lambda: OVERLAPPING], ids=["expanded", "overlapping"])
def test_an_answer_that_the_file_would_change_is_refused(take):
    with pytest.raises(tracepack.RecordError, match="hangs on the strides of a captured tensor with gaps or overlaps"):
        tracepack.trace(written_past(take), X)


@pytest.mark.parametrize("tensor", [EXPANDED, torch.rand(3, 8)[:, ::2], EXPANDED.bool()])
def test_captured_tensors_with_gaps_and_overlaps(tensor, tmp_path):
    def process(x):
        return torch.where(x.sum() > 0, tensor * 2, tensor) + x.sum()

    mod = tracepack.trace(process, X)
    mod.save(tmp_path / "mod.tpk")
    loaded = tracepack.load(tmp_path / "mod.tpk")
    for x in (X, -X):
        for each in (mod, loaded):
            assert torch.equal(each(x), process(x))
            assert each(x).stride() == process(x).stride()
