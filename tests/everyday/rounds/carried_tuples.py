"""Loops that carry tuples and namedtuples: the best item so far with its place, boxes, points, runs."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch

from tests.everyday.case import Case


class Best(NamedTuple):
    """A score and its place."""

    score: float
    index: int


def best_with_place(scores):
    best = (0.0, -1)
    for i, score in enumerate(scores):
        if score > best[0]:
            best = (score, i)
    return best


def best_of_tensor(x):
    best = (-1.0, -1)
    for i, score in enumerate(x.tolist()):
        if score > best[0]:
            best = (score, i)
    return {"score": best[0], "index": best[1]}


def best_label(labels, scores):
    best = (None, float("-inf"))
    for label, score in zip(labels, scores, strict=False):
        if score > best[1]:
            best = (label, score)
    return {"label": best[0], "score": best[1]}


def best_named(scores):
    best = Best(0.0, -1)
    for i, score in enumerate(scores):
        if score > best.score:
            best = Best(score, i)
    return {"score": best.score, "index": best.index}


def best_replaced(scores):
    best = Best(0.0, -1)
    for i, score in enumerate(scores):
        if score > best.score:
            best = best._replace(score=score, index=i)
    return best


def spread(scores):
    ends = (float("inf"), float("-inf"))
    for score in scores:
        ends = (min(ends[0], score), max(ends[1], score))
    return ends[1] - ends[0]


def mean_of_pair(scores):
    found = (0.0, 0)
    for score in scores:
        found = (found[0] + score, found[1] + 1)
    return found[0] / found[1]


def length_of_path(points):
    total, last = 0.0, (points[0][0], points[0][1])
    for x, y in points[1:]:
        total += math.hypot(x - last[0], y - last[1])
        last = (x, y)
    return total


def length_from_nothing(points):
    last, total = None, 0.0
    for x, y in points:
        if last is not None:
            total += math.hypot(x - last[0], y - last[1])
        last = (x, y)
    return total


def box(points):
    found = (float("inf"), float("inf"), float("-inf"), float("-inf"))
    for x, y in points:
        found = (min(found[0], x), min(found[1], y), max(found[2], x), max(found[3], y))
    return list(found)


def nested_pairs(scores):
    found = ((0.0, 0), "none")
    for score in scores:
        found = ((found[0][0] + score, found[0][1] + 1), "some" if score > 0.5 else found[1])
    return found


def state_of_tensors(rows):
    state = (torch.zeros(2), 0)
    for row in rows:
        state = (state[0] + row, state[1] + 1)
    return state[0] / state[1]


def spans_of_tags(tags):
    spans, span = [], None
    for i, tag in enumerate(tags):
        if tag.startswith("B-"):
            if span:
                spans.append(span)
            span = (tag[2:], i, i + 1)
        elif tag.startswith("I-") and span:
            span = (span[0], span[1], i + 1)
        else:
            if span:
                spans.append(span)
            span = None
    if span is not None:
        spans.append(span)
    return spans


def first_label(tags):
    found = None
    for i, tag in enumerate(tags):
        if tag.startswith("B-") and found is None:
            found = (tag[2:], i)
    return ("none", -1) if found is None else found


def last_place(tags):
    found = None
    for i, tag in enumerate(tags):
        if tag != "O":
            found = (tag, i)
    if found is not None and found[1] > 0:
        return found[1]
    return -1


def best_of_rows(rows):
    out = []
    for row in rows:
        best = None
        for i, score in enumerate(row):
            if score > 0.3 and (best is None or score > best[0]):
                best = (score, i)
        out.append(-1 if best is None else best[1])
    return out


_SCORES = ([[0.1, 0.7, 0.3, 0.9, 0.2]], [[[0.5, 0.4]], [[0.1, 0.2, 0.3, 0.3, 0.9, 0.8, 0.1]], [[0.2]], [[-1.0]]])
_POINTS = ([[[0.0, 1.0], [3.0, 5.0], [1.0, 2.0]]], [[[[1.0, 1.0], [2.0, 2.0], [4.0, 4.0], [0.5, 7.0]]], [[[2.0, 3.0]]]])
_TAGS = (
    [["B-PER", "I-PER", "O", "B-LOC", "O"]],
    [[["O", "O"]], [["B-LOC", "B-PER", "I-PER", "I-PER", "O", "B-X"]], [["B-X"]], [["I-X"]]],
)

CASES = {
    **{
        process.__name__: Case(process, *_SCORES)
        for process in (best_with_place, best_named, best_replaced, spread, mean_of_pair, nested_pairs)
    },
    **{process.__name__: Case(process, *_POINTS) for process in (length_of_path, length_from_nothing, box)},
    **{process.__name__: Case(process, *_TAGS) for process in (spans_of_tags, first_label, last_place)},
    "best_of_tensor": Case(
        best_of_tensor, [torch.tensor([0.1, 0.7, 0.3])], [[torch.tensor([0.5, 0.4])], [torch.tensor([-2.0])]]
    ),
    "best_label": Case(
        best_label,
        [["a", "b"], [0.1, 0.7]],
        [[["x"], [-3.0]], [["x", "y", "z"], [0.5, 0.9, 0.9]], [["q"], [float("-inf")]]],
    ),
    "state_of_tensors": Case(state_of_tensors, [torch.ones(3, 2)], [[torch.rand(5, 2)], [torch.rand(1, 2)]]),
    "best_of_rows": Case(best_of_rows, [[[0.5, 0.2, 0.9], [0.1]]], [[[[0.1]]], [[[0.1, 0.2], [0.3, 0.95], [0.4]]]]),
}
