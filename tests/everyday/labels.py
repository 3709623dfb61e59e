"""Labels and look-ups, as people write them."""

from __future__ import annotations

import json

import numpy as np
import torch

import tracepack
from tests.everyday.case import Case

LABELS = ["cat", "dog", "fox", "hen", "pig"]
COLOURS = {0: "red", 1: "green", 2: "blue", 3: "grey", 4: "black"}
NAMES = np.array(LABELS)
WEIGHTS = np.array([0.5, 1.0, 2.0, 4.0, 8.0])
WORDS = {"one": 1, "two": 2}

SCORES = torch.tensor([0.1, 0.9, 0.3, 0.2, 0.5])
OTHERS = [[torch.tensor([0.1, 0.2, 0.3, 0.25, 0.15])], [torch.tensor([2.0, 0.2, -0.3, 1.5, 0.15])]]
ROWS = torch.arange(15.0).reshape(3, 5).sin()
MORE = [[torch.arange(35.0).reshape(7, 5).cos()], [torch.arange(5.0).reshape(1, 5).neg()]]


def best_two(x):
    probs, ids = x.softmax(-1).topk(2)
    return {LABELS[i]: p for i, p in zip(ids.tolist(), probs.tolist(), strict=True)}


def records(x):
    probs, ids = x.softmax(-1).max(-1)
    return [{"label": LABELS[i], "score": round(p, 3)} for i, p in zip(ids.tolist(), probs.tolist(), strict=True)]


def above(x):
    return [LABELS[i] for i, score in enumerate(x.tolist()) if score > 0.25]


def appended(x):
    found = []
    for index in x.topk(3).indices.tolist():
        found.append(LABELS[index])  # noqa: PERF401  # the form is what is tested
    return found


def ranked(x):
    return [name for name, _ in sorted(zip(LABELS, x.tolist(), strict=True), key=lambda pair: pair[1], reverse=True)]


def best_places(x):
    return [place for place, _ in sorted(enumerate(x.tolist()), key=lambda pair: -pair[1])][:2]


def helper(index):
    return LABELS[index]


def one(process):
    return Case(process, [SCORES], OTHERS)


def many(process):
    return Case(process, [ROWS], MORE)


ANIMALS = [("cat", 1, 0.5), ("dog", 2, 1.5), ("fox", 3, 2.5), ("hen", 4, 3.5), ("pig", 5, 4.5)]


def unpacked(x):
    name, number, weight = ANIMALS[int(x.argmax())]
    return f"{name} {number}", x * weight


CASES = {
    "rows of a table": one(unpacked),
    "a row of a table": one(lambda x: dict(enumerate(ANIMALS))[x.argmax().item()]),
    "a place in a row of a table": one(lambda x: ANIMALS[int(x.argmax())][0]),
    "a row of a table with a default": one(lambda x: {1: ("a", 2.0)}.get(int(x.argmax()), ("b", 3.0))),
    "rows inside of rows": one(lambda x: [(("a", i), float(i)) for i in range(5)][int(x.argmax())]),
    "int of argmax": one(lambda x: LABELS[int(x.argmax())]),
    "item of argmax": one(lambda x: LABELS[x.argmax().item()]),
    "argmax itself": one(lambda x: LABELS[x.argmax()]),
    "tuple": one(lambda x: tuple(LABELS)[x.argmax().item()]),
    "dict": one(lambda x: COLOURS[x.argmax().item()]),
    "dict with a default": one(lambda x: {1: "yes"}.get(x.argmax().item(), "no")),
    "negative index": one(lambda x: LABELS[-1 - x.argmax().item()]),
    "array of numbers": one(lambda x: x * WEIGHTS[x.argmax().item()].item()),
    "array of texts": one(lambda x: str(NAMES[x.argmax().item()])),
    "helper": one(lambda x: helper(x.argmax().item())),
    "fixed number of labels": one(lambda x: [LABELS[j] for j in x.topk(3).indices.tolist()]),
    "two best in a dict": one(best_two),
    "above a threshold": one(above),
    "appended in a loop": one(appended),
    "rows of a tensor of indices": one(lambda x: [LABELS[int(j)] for j in x.topk(2).indices]),
    "label as a key": one(lambda x: {LABELS[x.argmax().item()]: x.max().item()}),
    "names and scores": one(lambda x: dict(zip(LABELS, x.tolist(), strict=True))),
    "names and rounded scores": one(lambda x: {k: round(v, 2) for k, v in zip(LABELS, x.tolist(), strict=True)}),
    "text with a score": one(lambda x: f"{LABELS[x.argmax().item()]}: {x.max().item():.2f}"),
    "text of a tensor": one(lambda x: f"{x.max():.3f} at {x.argmax()}"),
    "format": one(lambda x: "{}: {:>8.1%}".format(LABELS[x.argmax()], x.max().item())),  # noqa: UP032
    "percent": one(lambda x: "%s %5.2f" % (LABELS[x.argmax()], x.max().item())),  # noqa: UP031
    "json": one(lambda x: json.dumps({"label": LABELS[x.argmax()], "score": x.max().item()}, sort_keys=True)),
    "is it one of": one(lambda x: {"pet": LABELS[x.argmax()] in ("cat", "dog")}),
    "ranked": one(ranked),
    "best places": one(best_places),
    "number by a label": one(lambda x: 1 if LABELS[x.argmax()] == "dog" else 2),
    "verdict": one(lambda x: "sure" if x.softmax(-1).max() > 0.3 else "unsure"),
    "verdict of each": one(lambda x: ["high" if score > 0.4 else "low" for score in x.tolist()]),
    "verdict the other way": one(lambda x: [1 if not score > 0.4 else 0 for score in x.tolist()]),
    "label of the largest": one(lambda x: max(zip(x.tolist(), LABELS, strict=True), key=lambda pair: pair[0])[1]),
    "list for a batch": many(lambda x: [LABELS[j] for j in x.argmax(-1).tolist()]),
    "records for a batch": many(records),
    "lists in a list": many(lambda x: [[LABELS[j] for j in row] for row in x.topk(2).indices.tolist()]),
    "joined": many(lambda x: ", ".join(LABELS[j] for j in x.argmax(-1).tolist())),
    "mapped": many(lambda x: list(map(LABELS.__getitem__, x.argmax(-1).tolist()))),
    "numbered": many(lambda x: {i: LABELS[j] for i, j in enumerate(x.argmax(-1).tolist())}),
    "label of each row": many(lambda x: [LABELS[row.argmax()] for row in x]),
    "tensor for each label": many(lambda x: [(x[0] * j).sum() for j in x.argmax(-1).tolist()]),
    "counted": many(lambda x: sum(x.argmax(-1).tolist()) / len(x)),
    "look-up of a tensor": many(lambda x: tracepack.lookup(LABELS, x.topk(2).indices)),
    "look-up of numbers": many(lambda x: tracepack.lookup(WEIGHTS, x.argmax(-1)) * x.sum(-1)),
    "look-up of words": Case(
        lambda words: tracepack.lookup(WORDS, words, default=0), [["one", "three"]], [[["two"]], [["two"] * 5]]
    ),
    "look-up of a word": Case(lambda word: tracepack.lookup(WORDS, word, default=-1), ["one"], [["two"], ["x"]]),
}
