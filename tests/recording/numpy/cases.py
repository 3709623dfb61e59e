"""Functions that call numpy, and the check that one is packed right at other sizes."""

from __future__ import annotations

import math

import numpy as np
import torch

from tests.campaigns.check import Check
from tests.campaigns.tally import RIGHT

X = torch.arange(6.0).reshape(3, 2) + 0.5
OTHER = torch.tensor([[4.0, -1.0], [0.25, 3.0], [2.0, 8.0]])
TALL = torch.linspace(-2, 3, 10).reshape(5, 2)
MEAN = np.array([0.5, 0.25], dtype=np.float32)
TABLE = torch.tensor([[1.0, 2.0], [3.0, -4.0]])


def right(process, *example, others=()):
    """Traced, saved and loaded, it answers as Python does on the example and on every other input."""
    found = Check(process, example).run(others)
    assert (found.outcome, found.reason) == (RIGHT, "")


def normalized(x):
    a = x.numpy().astype(np.float32)
    a = (a - a.mean(axis=0)) / (a.std(axis=0) + 1e-6)
    return torch.from_numpy(np.clip(a, -1, 1))


def written(x):
    a = x.numpy().copy()
    a[0] = 7
    a[a > 3] -= 1
    a += MEAN
    a *= 2
    a[:, 1] = a[:, 0]
    a.sort(axis=0)
    return a


def shared(x):
    a = x.numpy()
    a[0] = 5
    t = torch.from_numpy(a)
    t[-1] += 2
    a += 1
    return x * 1, t, a.sum()


# name -> a function of one float32 tensor of two dimensions that holds for every number of rows
FREE = {
    "float of numpy's number": lambda x: x * float(np.sqrt(x.shape[0])),
    "math of numpy's number": lambda x: x * math.log(np.sqrt(x.shape[0])),
    "len of an array": lambda x: x * len(x.numpy()),
    "functions of a tensor": lambda x: (
        np.exp(x),
        np.maximum(x, 0),
        np.sqrt(np.abs(x)),
        np.add(x, x),
        np.greater(x, 0),
    ),
    "keywords of a function of a tensor": lambda x: np.add(x, x, dtype=np.float64),
    "folds of a tensor": lambda x: (np.add.reduce(x), np.maximum.accumulate(x, 1), np.multiply.outer(x, MEAN)),
    "two results of a tensor": lambda x: np.modf(x),
    "array functions of a tensor": lambda x: (np.concatenate([x, x]), np.stack([x, x]), np.where(x > 0, x, 0)),
    "methods behind functions": lambda x: (np.argmax(x), np.clip(x, 0, 1), np.reshape(x, (-1,)), np.transpose(x)),
    "numbers first": lambda x: (np.float64(2) * x, np.float32(2) - x, np.int64(2) * x, np.float64(2) > x, 3 * x),
    "tensor and array": lambda x: (x + MEAN, x * x.numpy(), x - np.float64(2)),
    "asarray": lambda x: (np.asarray(x), np.asarray(x, dtype=np.float64), np.array(x), np.array([x, x])),
    "products": lambda x: (
        x.numpy() @ x.numpy().T,
        np.dot(x.numpy(), MEAN),
        np.einsum("ij,ij->i", x.numpy(), x.numpy()),
    ),
    "shapes": lambda x: (
        x.numpy().reshape(-1),
        x.numpy().T,
        x.numpy()[None],
        np.expand_dims(x.numpy(), 0),
        x.numpy().ravel(),
    ),
    "sorting": lambda x: (
        np.sort(x.numpy(), axis=0),
        x.numpy().argsort(0),
        np.unique(x.numpy()),
        np.argmax(x.numpy(), 1),
    ),
    "kinds of an array": lambda x: {str(x.numpy().dtype): x, "f": isinstance(x.numpy(), np.ndarray)},
    "item of an array": lambda x: x * x.numpy()[0, 1].item() + x.numpy().item(0),
    "number of an array": lambda x: (x * x.numpy().max(), x.numpy() - x.numpy().min(), x.numpy().max() + 1),
    "math of a size": lambda x: (
        np.sqrt(x.shape[0]),
        np.log(x.shape[0]) * 2,
        x / np.sqrt(x.shape[1]),
        np.ceil(x.shape[0] / 2),
    ),
    "type of a size's number": lambda x: (np.sqrt(x.shape[0]).dtype == np.float64, np.sqrt(x.shape[0]) * x),
    "sizes with numpy's numbers": lambda x: (
        x.shape[0] * np.float32(2),
        np.int64(3) + x.shape[0],
        np.float64(2) ** x.shape[0],
    ),
    "array of sizes": lambda x: (np.array([x.shape[0], x.shape[1]]), np.arange(x.shape[0]), MEAN * x.shape[0]),
    "filled by size": lambda x: (
        np.zeros((x.shape[0], 2)),
        np.ones(x.shape[0]) * 2,
        np.full(x.shape[0], 3.0),
        np.zeros_like(x.numpy()),
    ),
    "range as index": lambda x: x[torch.from_numpy(np.arange(x.shape[0]))],
    "array as index": lambda x: x[x.numpy()[:, 0].argsort()],
    "constants returned": lambda x: {"mean": MEAN, "one": np.float32(1), "x": x, "n": np.int64(2)},
    "bool and complex": lambda x: (
        np.logical_and(x.numpy() > 0, x.numpy() < 3).any(),
        np.fft.fft(x.numpy()).real,
        1j * x.numpy(),
    ),
    "half": lambda x: x.half().numpy() * 3,
    "print": lambda x: print(x.numpy(), x.numpy().shape, x.numpy().max()) or x,
    "normalized": normalized,
    "written": written,
    "shared": shared,
    "tensor of a number": lambda x: torch.tensor(np.float64(2)) * x.double() + torch.tensor(np.float32(3)),
    "norm": lambda x: (
        np.linalg.norm(x.numpy()),
        np.linalg.norm(x.numpy(), axis=1),
        np.linalg.svd(x.numpy())[1].shape[0],
    ),
    "method of a number": lambda x: (
        x.numpy().sum().astype(np.float64),
        round(x.numpy().max(), 1),
        abs(x.numpy().min()),
    ),
}


def scale(a, b):
    a *= 0.5
    return a
