"""Functions that branch on numbers of tensors, line after line, choose members of an Enum, and call modules."""

from __future__ import annotations

import enum
import statistics

import torch

import tracepack
from tests.everyday.case import Case


class Level(enum.Enum):
    LOW = 1
    MID = 2
    HIGH = 3


ACTIONS = {Level.HIGH: "page", Level.MID: "mail", Level.LOW: "log"}


def graded(score):
    if score >= 0.8:
        return Level.HIGH
    if score >= 0.5:
        return Level.MID
    return Level.LOW


def by_member(score):
    level = Level.HIGH if score >= 0.8 else Level.MID if score >= 0.5 else Level.LOW
    return level.name, level.value, level == Level.MID, level is Level.LOW


def of_a_tensor(x):
    level = graded(float(x.max()))
    if level is Level.HIGH:
        return "!" + level.name
    return ACTIONS[level]


def labelled(x):
    score = x.max().item()
    if score > 0.8:
        return "high"
    if score > 0.5:
        return "mid"
    if x.mean().item() > 0.1:
        return f"low {score:.2f}"
    return "none"


def nested(x):
    out = {"label": "none"}
    if float(x.max()) > 0.5:
        if x.argmax().item() == 0:
            out = {"label": "first"}
        else:
            out = {"label": "other"}
    return out


def counted(x):
    count = int((x > 0.5).sum())
    if count == 0:
        return []
    if count == 1:
        return [float(x.max())]
    return x[x > 0.5].tolist()


def outliers(values, most=2.0):
    if len(values) < 2:
        return {"mean": None, "outliers": []}
    mean, deviation, out = statistics.mean(values), statistics.stdev(values), []
    for place, value in enumerate(values):
        score = (value - mean) / deviation if deviation > 0 else 0.0
        if abs(score) > most:
            out.append({"place": place, "score": round(score, 2)})
    return {"mean": round(mean, 3), "outliers": out}


TENSORS = [torch.tensor(each) for each in ([0.9, 0.1], [0.1, 0.6], [0.2, 0.3], [0.0, 0.0], [0.9, 0.9])]


def of_tensors(process, first):
    return Case(process, [TENSORS[first]], [[each] for each in TENSORS])


CASES = {
    "members": Case(by_member, [0.9], [[0.6], [0.1]]),
    "members that helpers return": Case(lambda s: (graded(s).name, ACTIONS[graded(s)]), [0.1], [[0.9], [0.6]]),
    "members of each item": Case(lambda xs: [graded(x).name for x in xs], [[0.9, 0.1]], [[[0.6]], [[]]]),
    "functions of a module": Case(
        outliers, [[1.0, 1.1, 0.9, 1.0, 9.0, 1.0]], [[[]], [[1.0]], [[2.0] * 3], [[1.0, 2.0, 3.0, 50.0, 1.0, 2.0, 1.0]]]
    ),
    "sides of cond": Case(
        lambda s: tracepack.cond(s > 0.5, lambda: Level.HIGH, lambda: Level.LOW).name, [0.9], [[0.1]]
    ),
    **{
        f"{process.__name__}, from {first}": of_tensors(process, first)
        for process in (of_a_tensor, labelled, nested, counted)
        for first in (0, 2)
    },
}
