"""Random programs of numpy calls and of writes into arrays agree with Python."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from tests.recording.numpy.cases import OTHER, TALL, X, right, scale

pytestmark = pytest.mark.filterwarnings("ignore:__array(_wrap__)?.* must (accept|implement).*:DeprecationWarning")

STEPS = [
    lambda a, b: a + b,
    lambda a, b: a * np.float32(1.5) - b[:1],
    lambda a, b: np.maximum(a, b) / 3,
    lambda a, b: np.where(a > b, a, -b),
    lambda a, b: np.exp(-np.abs(a)),
    lambda a, b: a - a.mean(axis=0),
    lambda a, b: np.cumsum(a, axis=1)[::-1],
    lambda a, b: (a > 0).astype(np.float32) * b,
    lambda a, b: a.astype(np.float64) ** 2,
    lambda a, b: np.sort(a, axis=0),
    lambda a, b: np.clip(a, b.min(), b.max()),
    lambda a, b: a * a.shape[0] + np.sqrt(a.shape[1]),
    lambda a, b: np.concatenate([a, b], axis=1)[:, : a.shape[1]],
    lambda a, b: np.stack([a, b]).sum(0),
    lambda a, b: torch.from_numpy(np.abs(a)).log1p().numpy() + len(b),
    lambda a, b: (torch.from_numpy(a.copy()) * 2).softmax(-1).numpy(),
    lambda a, b: np.take_along_axis(a, a.argsort(axis=1), axis=1),
    lambda a, b: a.reshape(-1).reshape(a.shape) % 2,
    lambda a, b: np.array([a, b])[1] - a[0, 0].item(),
    lambda a, b: np.outer(a[:, 0], b[0]) + a.shape[0],
]


def put(a, b):
    a[0] = b[-1]
    return b


def mask(a, b):
    a[a > 1] -= 1
    return a


def flip(a, b):
    view = a[:, ::-1]
    view += b
    return b * 2


def through_torch(a, b):
    torch.from_numpy(np.ascontiguousarray(a)).mul_(0.5).add_(1)
    return b + a


WRITES = [scale, put, mask, flip, through_torch]


def program(seed):
    """A function that applies random steps to an array of a tensor; some write into it."""
    chosen = random.Random(seed)
    steps = [(chosen.choice(STEPS + WRITES), chosen.randrange(4), chosen.randrange(4)) for _ in range(8)]

    def process(x):
        arrays = [x.numpy(), x.numpy().copy(), (x * 2).numpy(), np.asarray(x + 1)]
        for index, (step, first, second) in enumerate(steps):
            found = step(arrays[first], arrays[second])
            arrays[index % 4] = found.astype(np.float32) if found.dtype != np.float32 else found
        return x * 1, arrays

    return process


@pytest.mark.parametrize("seed", range(25))
def test_random_programs(seed) -> None:
    right(program(seed), X, others=[[OTHER], [TALL], [X.t().contiguous().t()]])
