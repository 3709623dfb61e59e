"""Idioms around tensors that functions of every day hold."""

from __future__ import annotations

import copy
import enum
import functools
import json
import logging
import math
import statistics
from fractions import Fraction

import numpy as np
import torch
from torch import distributions

from tests.everyday.case import Case

LOGGER = logging.getLogger(__name__)
X = torch.tensor([0.25, 1.5, -2.0, 0.5])
OTHERS = [[torch.tensor([3.0, 3.0])], [torch.tensor([0.5, 0.125, -7.0, 2.5, 1.0])]]


class Column(enum.IntEnum):
    FIRST = 0
    SECOND = 1


class Verdict(enum.Enum):
    GOOD = 1
    BAD = 0


@functools.cache
def window(size):
    return torch.hann_window(size)


@functools.lru_cache(maxsize=4)
def places(count, width=2):
    return torch.arange(count)[:, None] * torch.ones(width)


@functools.cache
def cleaned(text):
    return text.strip().lower()


class Model:
    @functools.cached_property
    def factor(self):
        return torch.tensor([2.0]) + 1


MODEL = Model()
GAINS = np.array([0.5, 2.0])
GAIN = torch.nn.Linear(1, 2).eval()


def logged(x):
    LOGGER.info("mean %s, %s values", x.mean(), x.shape[0])
    logging.getLogger("other").debug("largest %.3f", x.max().item())
    return x * 2


def validated(x, n):
    assert x.shape[0] > 1
    if n < 1 or n > 9:
        raise ValueError(f"n must be in 1..9, not {n}")
    if not x.numel():
        raise ValueError("empty")
    return x * n


def asserted(x):
    assert (x > -100).all(), "too small"
    assert x.shape[0] < 100 and x.isfinite().all().item()  # noqa: PT018  # the form is what is tested
    return x * 2


def checked(x):
    torch._check(x.shape[0] > 0, lambda: "empty")
    torch._assert((x > -100).all(), "too small")
    return x + 1


def refused(x):
    if x.isnan().any():
        raise ValueError("not a number")
    if not x.any().item() or x.max() > 100:
        raise ValueError(f"{x.max():.2f} is too large, or all are 0")
    return x / x.abs().sum()


def refused_items(x):
    roots = []
    for value in x.tolist():
        if value < -100:
            raise OverflowError(value)
        roots.append(abs(value) ** 0.5)
    return roots


def scaled(x):
    return (x - x.min()) / max(x.max() - x.min(), 1e-6)


def others_checked(x):
    torch._check_value(x.shape[0] > 1)
    torch._check_tensor_all(x > -100)
    torch._assert_async((x > -100).all())
    return x * 2


def labelled(x):
    if x.mean() > 0:
        return "positive"
    return "negative"


def one(process):
    return Case(process, [X], OTHERS)


CASES = {
    "logging": one(logged),
    "assert": one(asserted),
    "torch._check and torch._assert": one(checked),
    "other checks of torch": one(others_checked),
    "raise": one(refused),
    "raise in a loop": one(refused_items),
    "max of a tensor and a number": one(scaled),
    "min of tensors": one(lambda x: min(x.max(), x.sum(), x[0])),
    "not any": one(lambda x: {"clean": not x.isnan().any().item(), "other": not (x > 1).any()}),
    "a device": one(lambda x: x.to(torch.device("cpu")) + torch.zeros(1, device=torch.device("cpu"))),
    "a model that is where it should be": one(lambda x: GAIN.to("cpu").to(x.device).to(torch.float32)(x[:, None])),
    "device compared": one(lambda x: x if x.device == torch.device("cpu") else x.cpu()),
    "cached constant": one(lambda x: x[:2] * window(2) * MODEL.factor),
    "a cache by a size": one(lambda x: x[:, None] * places(x.shape[0], width=3) + window(len(x))[:, None]),
    "a cache by a text": Case(lambda texts: [cleaned(text) for text in texts], [[" A", "b"]], [[["C "]], [[]]]),
    "fraction": one(lambda x: x * float(Fraction(1, 3))),
    "statistics": one(lambda x: (statistics.mean(x.tolist()), statistics.median(x.tolist()))),
    "statistics with options": one(
        lambda x: (statistics.quantiles(x.tolist(), n=3), statistics.mode([round(v) for v in x.tolist()]))
    ),
    "statistics of constants": one(lambda x: x * statistics.fmean([1.0, 2.0])),
    "names of columns": one(lambda x: x[Column.SECOND] * Column.SECOND + x[Column.FIRST]),
    "members of enums": one(lambda x: [Column(int(v > 0)).name for v in x.tolist()]),
    "a member of an enum": one(lambda x: {"verdict": Verdict(int(x.mean() > 0)).name, "code": Verdict(1).value}),
    "a member that is compared": one(lambda x: Verdict(int(x.mean() > 0)) == Verdict.GOOD),
    "a normal distribution": one(lambda x: distributions.Normal(0.0, x.abs().max() + 1).log_prob(x)),
    "a distribution of classes": one(lambda x: distributions.Categorical(logits=x).entropy()),
    "a divergence": one(
        lambda x: distributions.kl_divergence(distributions.Normal(x, 1.0), distributions.Normal(0.0, x.abs() + 1))
    ),
    "a normal distribution of vectors": one(
        lambda x: distributions.MultivariateNormal(x[:2] * 0, torch.eye(2) * (x.abs().max() + 1)).log_prob(x[:2])
    ),
    "a transformed distribution": one(
        lambda x: distributions.TransformedDistribution(
            distributions.Normal(0.0, 1.0), [distributions.ExpTransform()]
        ).log_prob(x.abs() + 0.1)
    ),
    "copy": one(lambda x: copy.copy(x).add(1)),
    "deep copy": one(lambda x: (copy.deepcopy(x), copy.deepcopy(x[::2]).add(1))),
    "a table that an array asks": one(lambda x: GAINS[x.argsort().numpy() % 2]),
    "compact json": one(lambda x: json.dumps([round(v, 3) for v in x.tolist()], separators=(",", ":"))),
    "a model that has the dtype": one(lambda x: GAIN.float()(x[:, None])),
    "json": one(lambda x: json.dumps({"values": [round(v, 2) for v in x.tolist()], "n": len(x)}, indent=2)),
    "choice by a comparison": one(lambda x: [["low", "high"][v > 0.4] for v in x.tolist()]),
    "rounded": one(lambda x: {"mean": round(float(x.mean()), 3), "best": int(x.argmax())}),
    "largest of a list": one(lambda x: (max(x.tolist()), x.tolist().index(max(x.tolist())))),
    "whole numbers": one(lambda x: [int(v) for v in x.tolist()]),
    "array as a list": one(lambda x: np.round(x.numpy(), 1).tolist()),
    "returns of two texts": one(labelled),
    "number of two": one(lambda x: x * (2.0 if x.sum().item() > 0 else 0.5)),
    "math of numbers": one(
        lambda x: [
            math.copysign(2.0, x[0].item()),
            math.fmod(x[1].item(), 1.25),
            *math.modf(x.sum().item()),
            math.degrees(x[1].item()),
            math.erf(x[0].item()),
            math.pow(x[0].item(), 2),
            math.remainder(x[0].item(), 2),
        ]
    ),
    "math of tensors": one(lambda x: [math.sqrt((x * x).sum()), math.floor(x.max() * 9), math.atan2(x[0], 2)]),
    "math of lists": one(lambda x: {"sum": math.fsum(x.tolist()), "product": math.prod(x.tolist())}),
    "sorted by size": one(lambda x: sorted(x.tolist(), key=abs)),
    "nearest": one(lambda x: min(x.tolist(), key=lambda value: (value - 0.4) ** 2)),
    "rows backwards": one(lambda x: torch.stack([row * 2 for row in reversed(x)])),
    "a shape in texts": one(
        lambda x: (f"{x.shape}", str(x[1:].shape), f"{x.shape} {1!r}", f"{x.shape!r:>30}", repr(x.shape))
    ),
    "sizes in a text": one(lambda x: "x".join(map(str, x.shape))),
    "a shape in a message": one(lambda x: LOGGER.info(f"{x.shape}") or x * 2),
    "print": one(lambda x: print(f"{x.mean():.2f}") or x),
}
