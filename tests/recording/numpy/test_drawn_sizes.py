"""Draws of numpy whose size a run decides are refused: its compiled code trusts the arrays that it makes for them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import tracepack

GENERATOR = np.random.default_rng(0)


def empties(x):
    noise = np.empty(x.shape)
    return x.numpy() + GENERATOR.normal(size=x.shape) + noise


DRAWS = [
    lambda x: x.numpy() + np.random.default_rng(0).normal(size=x.shape),
    lambda x: x.numpy() + np.random.normal(0, 1, x.shape),
    lambda x: x.numpy() + np.random.rand(*x.shape),
    lambda x: x.numpy() + np.random.randn(len(x)),
    lambda x: x.numpy() + GENERATOR.integers(0, 3, size=x.shape[0]),
    lambda x: x.numpy()[GENERATOR.permutation(len(x))],
    lambda x: x.numpy() + np.random.RandomState(0).standard_normal(len(x)),
    empties,
]


@pytest.mark.parametrize("process", DRAWS)
def test_a_draw_of_as_many_numbers_as_a_size_says_is_refused(process):
    said = r"test_drawn_sizes.py:\d+ in .*numpy draws random numbers.*Pass them as an input, or draw them with torch"
    with pytest.raises(tracepack.RecordError, match=said):
        tracepack.trace(process, torch.rand(3))


def test_arrays_beside_draws_are_recorded():
    def process(x):
        noise = np.random.default_rng(0).normal(size=3)
        made = np.zeros(len(x)) + np.arange(len(x)) + np.ones(x.shape)
        return made + noise.sum()

    mod = tracepack.trace(process, torch.rand(3))
    assert np.array_equal(mod(torch.rand(5)), process(torch.rand(5)))
