"""Loops that carry objects, or fill lists with them whose items the rounds read: greedy choices of boxes."""

from __future__ import annotations

import dataclasses

import pytest
import torch

import tracepack
from tests.everyday.case import Case, check
from tests.everyday.rounds.test_made_objects import Box, Point, Score, label


@dataclasses.dataclass
class Found:
    label: str
    score: float
    box: Box


def found_in(row):
    return Found(label(row[4]), row[5], Box(row[0], row[1], row[0] + row[2], row[1] + row[3]))


def suppressed(rows):
    found = [found_in(row) for row in rows.tolist()]
    kept = []
    for each in sorted(found, key=lambda each: each.score, reverse=True):
        if all(each.label != other.label or each.box.iou(other.box) < 0.3 for other in kept):
            kept.append(each)
    return [{"label": each.label, "score": each.score} for each in kept]


def apart(rows):
    scores = [Score(label(row[4]), row[5]) for row in rows.tolist()]
    kept = []
    for each in scores:
        if all(abs(each.value - other.value) > 0.2 for other in kept):
            kept.append(each)
    return [each.shown() for each in kept], len(kept)


def best(rows):
    first = Score("none", -1.0)
    for row in rows.tolist():
        if row[5] > first.value:
            first = Score(label(row[4]), row[5])
    return first.shown(), first.rank


def best_of_some(rows):
    scores = [Score(label(row[4]), row[5]) for row in rows.tolist()]
    first = scores[0]
    for each in scores[1:]:
        if each.value > first.value:
            first = each
    return first.label


def steps(rows):
    before, found = None, []
    for row in rows.tolist():
        point = Point(row[0], row[1])
        if before is not None:
            found.append(point.norm() - before.norm())
        before = point
    return found


def differences(rows):
    before, found = None, []
    for row in rows.tolist():
        score = Score("x", row[5])
        if before is not None:
            found.append(score.value - before.value)
        before = score
    return found


def rising(rows):
    found = []
    for row in rows.tolist():
        score = Score(label(row[4]), row[5])
        if not found or score.value > found[-1].value:
            found.append(score)
    return [each.shown() for each in found]


def queue(rows):
    waiting = sorted([found_in(row) for row in rows.tolist()], key=lambda each: -each.score)
    kept = []
    while waiting:
        first = waiting.pop(0)
        kept.append(first)
        waiting = [each for each in waiting if each.box.iou(first.box) < 0.2]
    return [each.label for each in kept]


torch.manual_seed(3)
ROWS = [[torch.rand(size, 6)] for size in (4, 1, 9, 3, 6)]
FUNCTIONS = (suppressed, apart, best, best_of_some, steps, differences, rising, queue)
CASES = {each.__name__: Case(each, ROWS[0], ROWS[1:]) for each in FUNCTIONS}


@pytest.mark.parametrize("name", CASES)
def test_loops_that_carry_objects(name) -> None:
    check(CASES[name])


def mixed(rows):
    found = []
    for row in rows.tolist():
        if row[5] > 0.5:
            found.append(Score("high", row[5]))
        else:
            found.append(Point(row[0], row[5]))
    return len(found)


def moved(rows):
    current, found = Score("first", 0.5), []
    for row in rows.tolist():
        if row[5] > current.value:
            current = Score(label(row[4]), row[5])
        current.value += 0.1
        found.append(current.value)
    return found


@pytest.mark.usefixtures("no_blocks")
@pytest.mark.parametrize("function", [mixed, moved], ids=lambda function: function.__name__)
def test_objects_of_several_classes_and_changed_ones_are_refused(function) -> None:
    with pytest.raises(tracepack.RecordError, match=f"in {function.__name__}: "):
        tracepack.trace(function, ROWS[0][0])
