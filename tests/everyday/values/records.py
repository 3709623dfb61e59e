"""Dataclasses and namedtuples that a function makes, one by one and in loops; a file gives namedtuples for both."""

from __future__ import annotations

import dataclasses
import types
from typing import NamedTuple

import torch

from tests.everyday.case import Case
from tests.everyday.labels import LABELS


@dataclasses.dataclass
class Found:
    label: str
    score: float


@dataclasses.dataclass(frozen=True)
class Answer:
    doubled: torch.Tensor
    best: Found
    notes: list[str] = dataclasses.field(default_factory=list)


class Pair(NamedTuple):
    label: str
    score: float


def label(i):
    return LABELS[i % 3]


def best(x):
    i = int(x.argmax())
    return Found(label(i), float(x[i]))


def likely(kind):
    def process(x):
        found = []
        for i, score in enumerate(x.tolist()):
            if score > 0.5:
                found.append(kind(label(i), score))
        return found

    return process


def ranked(kind):
    def process(x):
        found = [kind(label(i), score) for i, score in enumerate(x.tolist())]
        found.sort(key=lambda each: each.score, reverse=True)
        return [f"{each.label}: {each.score:.2f}" for each in found if each.score > 0.2], found[:2]

    return process


def largest(kind):
    def process(x):
        found = max((kind(label(i), score) for i, score in enumerate(x.tolist())), key=lambda each: each.score)
        return {"label": found.label, "score": found.score}

    return process


def scores(process):
    return Case(process, [torch.tensor([0.3, 0.9, 0.6])], [[torch.linspace(0.1, 0.9, n).sin()] for n in (1, 2, 7)])


@dataclasses.dataclass
class Held:
    x: torch.Tensor
    count: int = 0


def held_after_more(x):
    return dataclasses.replace(Held(x, 1), count=len(x))


TENSORS = [torch.rand(2, 3)], [[torch.rand(4, 3)], [torch.rand(1, 2)]]
CASES = {
    "the input itself in a dataclass": Case(Held, *TENSORS),
    "two dataclasses with it": Case(lambda x: {"first": Held(x), "both": [Held(x, 2), x * 2]}, *TENSORS),
    "a dataclass replaced": Case(held_after_more, *TENSORS),
    "an array that is an input": Case(
        lambda x: Held(x, x.shape[0]), [torch.rand(2, 3).numpy()], [[torch.rand(4, 2).numpy()]]
    ),
    "a dataclass as a dict": Case(lambda x: dataclasses.asdict(Held(x, len(x))), *TENSORS),
    "an object's attributes": Case(lambda x: vars(types.SimpleNamespace(x=x, n=len(x))), *TENSORS),
    "one": scores(best),
    "one in another": scores(lambda x: Answer(x * 2, best(x), ["a"])),
    "in a list and a dict": scores(lambda x: {"all": [best(x), best(-x)]}),
    **{
        f"{name} of {kind.__name__}": scores(make(kind))
        for kind in (Found, Pair)
        for name, make in {"likely ones": likely, "ranks": ranked, "the largest": largest}.items()
    },
    "a dict of them": scores(lambda x: {each.label: each for each in likely(Found)(x + 0.5)}),
}
